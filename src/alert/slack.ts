/**
 * The sink for Slack and for what takes Slack's incoming webhooks: one message when an alert begins, changes its
 * severity or ends. Many at once are one message with a line each. Whatever others wrote (names, messages of the
 * provider) is shown as text and can neither mention, link nor format. The address is a secret and shown nowhere.
 */
import type { Alert } from '../model/alert';
import type { Secret } from '../tools/secret';
import { pageOf } from './page';
import { plainName } from './plain-text';
import { type Posted, postJson } from './post-json';
import type { AlertSink, PostResult } from './sink';

export interface SlackOptions {
  url: Secret;
  /** For one round of messages. Default 10 s. */
  timeoutMs?: number;
}

export interface SlackMessage {
  text: string;
  /** No formatting, no mentions, no previews: of Slack's own reading of texts nothing is left but `<address>`. */
  mrkdwn: false;
  parse: 'none';
  link_names: false;
  unfurl_links: false;
  unfurl_media: false;
}

/** More than this in one round are one message. */
const messagesMax = 5;
const linesMax = 20;
const lineMax = 140;
/** An address that is longer is left to `tramline alerts`: cut it would lead nowhere. */
const addressMax = 300;
/** The rest of a page is short, but for one address. Slack cuts at 40,000. */
const descriptionMax = 1500;
const textMax = 6000;

/**
 * A Slack-compatible incoming webhook: one message an alert, or one digest above 5 alerts a post; each text is cut to a
 * bound. A whole post ends within `timeoutMs`. Never rejects: what was not taken is named. Bounds as `messageOf` and
 * `digestOf` do.
 */
export function makeSlackSink({ url, timeoutMs = 10_000 }: SlackOptions): AlertSink {
  return {
    name: 'slack',
    repeats: false,
    keeps: false,
    async post(alerts, nowMs) {
      const deadline = AbortSignal.timeout(timeoutMs);
      const result: PostResult = { taken: [], failed: [], status: null, retryAfterMs: null };
      const messages =
        alerts.length > messagesMax
          ? [{ alerts, message: digestOf(alerts) }]
          : alerts.map((alert) => ({ alerts: [alert], message: messageOf(alert) }));
      let goesOn = true;
      // One after the other: Slack takes about one message in a second, and order is what a reader follows.
      for (const { alerts: told, message } of messages) {
        const answer: Posted | null = goesOn ? await tell(url, message, deadline, nowMs) : null;
        result.status = answer?.status ?? result.status ?? null;
        const fingerprints = told.map((alert) => alert.fingerprint);
        if (answer !== null && isTaken(answer)) {
          result.taken.push(...fingerprints);
          continue;
        }
        const retry = answer?.status !== 400;
        // What only this message may be to blame for, over and over, must not keep those after it.
        goesOn &&= answer !== null && answer.status !== 429 && answer.status <= 500;
        result.retryAfterMs = answer?.retryAfterMs ?? result.retryAfterMs ?? null;
        result.failed.push(...fingerprints.map((fingerprint) => ({ fingerprint, retry })));
      }
      return result;
    },
  };
}

async function tell(
  url: Secret,
  message: SlackMessage,
  deadline: AbortSignal,
  nowMs: number,
): Promise<Posted | null> {
  try {
    return await postJson(url.open(), message, deadline, nowMs);
  } catch {
    // No answer, or an address that is none: nothing of it may be shown, and it is tried again.
    return null;
  }
}

/** Slack answers `ok`; others answer JSON, in which a refusal may hide behind a 200. */
function isTaken({ status, text }: Posted): boolean {
  if (status < 200 || status >= 300) return false;
  return !/^\s*\{[^{}]*"(ok|success)"\s*:\s*false\b/.test(text);
}

/**
 * The page in full; its two addresses, where to act and the runbook, are links, and nothing else is. A description has
 * at most 1,500 characters, the page 6,000 before it is escaped.
 */
export function messageOf(alert: Alert): SlackMessage {
  const { description, runbook_url, action_url } = alert.annotations;
  const shown = description === undefined ? {} : { description: cut(description, descriptionMax) };
  const page = pageOf({ ...alert, annotations: { ...alert.annotations, ...shown } });
  let text = escaped(cut(page, textMax));
  for (const address of [runbook_url, action_url]) {
    if (address === undefined) continue;
    const link = address.replace(/&/g, '&amp;').replace(/[|<>]/g, encodeURIComponent);
    text = text.replace(`: ${escaped(address)}\n`, () => `: <${link}>\n`);
    if (text.endsWith(`: ${escaped(address)}`)) text = `${text.slice(0, -escaped(address).length)}<${link}>`;
  }
  return plain(text);
}

/**
 * What began and ended, a line each, the worst first, with who acts where and until when; the first stand for the rest.
 * At most 20 lines of 140 characters, each with an address of at most 300, or as many of what is left to do.
 */
export function digestOf(alerts: Alert[]): SlackMessage {
  const firing = alerts.filter(({ state }) => state === 'firing');
  const ended = alerts.filter(({ state }) => state === 'resolved');
  const lines = [...firing.toSorted(compareUrgency), ...ended].slice(0, linesMax);
  const more = alerts.length - lines.length;
  const text = [
    `${firing.length} ${firing.length === 1 ? 'alert' : 'alerts'} began and ${ended.length} ended at once.`,
    ...lines.map(lineOf),
    more > 0 ? `and ${more} more: tramline alerts` : 'What to do about each: tramline alerts',
  ];
  return plain(escaped(text.join('\n')));
}

const urgency = { critical: 0, warning: 1, info: 2 };

/** By severity, and then what is lost soonest. */
function compareUrgency(left: Alert, right: Alert): number {
  const [one, other] = [left, right].map(({ annotations }) => lossOf(annotations) ?? '9');
  return urgency[left.severity] - urgency[right.severity] || (one! < other! ? -1 : Number(one! > other!));
}

function lineOf({ state, name, severity, labels, annotations }: Alert): string {
  const subject = Object.values(labels)
    .map((value) => plainName(value, lineMax))
    .join(' ');
  const line = cut(`${state === 'firing' ? 'FIRING' : 'RESOLVED'} ${name} (${severity}) ${subject}`, lineMax);
  const { folded_into: into, when_over: left } = annotations;
  if (state !== 'firing')
    return left === undefined || into !== undefined ? line : `${line}; ${cut(left, lineMax)}`;
  const { owner, kept_until: kept, action_url: where, closes_at: closes } = annotations;
  const until = lossOf(annotations);
  if (closes !== undefined) return `${line}; over, closes at ${closes}`;
  return [
    line,
    owner,
    until && `${until === kept ? 'kept ' : ''}until ${until}`,
    where !== undefined && where.length <= addressMax ? where : undefined,
  ]
    .filter((part) => part !== undefined && part !== '')
    .join('; ');
}

/** Until when it must be seen to; of words instead of a time the full page tells. */
function lossOf({ kept_until, until_when = '' }: Alert['annotations']): string | undefined {
  // A consent may end before what is kept does.
  return Number.isNaN(Date.parse(until_when)) ? kept_until : until_when;
}

function plain(text: string): SlackMessage {
  return {
    text,
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  };
}

/**
 * `&`, `<` and `>` are all that Slack itself reads in such a text. Others that take the same webhooks also read
 * mentions and Markdown links: a space without width takes both apart.
 */
function escaped(text: string): string {
  return text
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/@(?=\w)/g, '@\u200b')
    .replace(/\](?=[([])/g, ']\u200b');
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`;
}
