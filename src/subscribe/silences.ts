/**
 * Which subscriptions are silent as this process knows it: by what was noted of heartbeats, and for no longer than
 * deliveries are known to have been noted. Who tells of them is no matter of this file.
 */
import type { Condition } from '../model/alert';
import type { StoredWebhookSecret } from '../model/subscription';
import { nameOfGiven } from './given-tokens';
import type { Listening } from './listening';
import { boundTokens, type Findings } from './look';
import type { SecretBook } from './secret-book';
import { type Silence, type SilenceBounds, silenceOf } from './silence';

export interface Silences {
  /** Those that are silent, but for what was found to be in trouble. */
  among(findings: Findings): Condition[];
  /**
   * Reads what was heard, by whichever process, and notes that somebody listens: who is silent by that stays so until it is
   * heard. Rejects as the store does.
   */
  hear(findings: Findings): Promise<void>;
}

type Expected = Pick<StoredWebhookSecret, 'madeAtMs' | 'heardAtMs' | 'beatMs'>;

/** Since when was listened as it was found silent, and what was heard of it by then. */
interface Kept {
  listeningSinceMs: number;
  heardAtMs: number | null;
}

/**
 * `silenceMsMin` 0: none is silent, ever. Nobody becomes silent after the last note: while the store is away heartbeats are
 * refused, and others may have noted some that are not known here. Keeps an entry for each silent subscription.
 */
export function makeSilences(book: SecretBook, silenceMsMin: number, listening: Listening): Silences {
  let kept = new Map<string, Kept>();

  const silentOf = (findings: Findings) => {
    if (silenceMsMin === 0) return [];
    const learned = boundTokens(book).flatMap(({ beatMs }) => beatMs ?? []);
    const bounds: Omit<SilenceBounds, 'listeningSinceMs'> = {
      silenceMsMin,
      othersBeatMs: learned.length === 0 ? null : Math.max(...learned),
      nowMs: listening.untilMs(),
    };
    return expectedOf(book).flatMap(({ id, row }) => {
      const before = kept.get(id);
      // A break in which nobody could be heard ends no silence that was there before it.
      const isKept = before !== undefined && before.heardAtMs === row.heardAtMs;
      const listeningSinceMs = isKept ? before.listeningSinceMs : listening.sinceMs();
      const silence = findings.has(id) ? null : silenceOf(row, { ...bounds, listeningSinceMs });
      return silence === null ? [] : [{ id, row, silence, listeningSinceMs }];
    });
  };

  return {
    among: (findings) =>
      silentOf(findings).map(({ id, row, silence }) => ({
        name: 'subscription-silent',
        sinceMs: silence.sinceMs,
        detail: wordsOf(id, silence, row),
        labels: { subscription_id: id },
      })),
    async hear(findings) {
      // Before the note: after an outage this memory may lack what others heard meanwhile.
      await book.refresh();
      await listening.note();
      const silent = silentOf(findings);
      kept = new Map(
        silent.map(({ id, row: { heardAtMs }, listeningSinceMs }) => [id, { listeningSinceMs, heardAtMs }]),
      );
    },
  };
}

/** Whose heartbeats are expected. */
export function expectedOf(book: SecretBook): { id: string; row: Expected }[] {
  const known = boundTokens(book).map(({ subscriptionId, ...row }) => ({ id: subscriptionId, row }));
  const unseen = book.inState('token', 'given').flatMap((row) => {
    const id = nameOfGiven(book, row);
    return id === null || row.subscriptionId !== null || row.heardAtMs === null ? [] : [{ id, row }];
  });
  return [...known, ...unseen];
}

function wordsOf(
  id: string,
  { heardAtMs, beatMs }: Silence,
  { madeAtMs }: Pick<Expected, 'madeAtMs'>,
): string {
  const usual = beatMs === null ? '' : `; they come every ${secondsOf(beatMs)}`;
  const at = (ms: number) => new Date(ms).toISOString();
  return heardAtMs === null
    ? `Subscription ${id} has never sent a heartbeat, and is known since ${at(madeAtMs)}${usual}.`
    : `Subscription ${id} has sent no heartbeat since ${at(heardAtMs)}${usual}.`;
}

function secondsOf(ms: number): string {
  return `${Math.max(1, Math.round(ms / 1000))} s`;
}
