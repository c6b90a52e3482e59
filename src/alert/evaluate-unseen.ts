/**
 * Signals for consents that were refused before any organization was seen with them: no organization tells of these, so
 * each is an incident of its own, and more of them than are told one by one are one. Pure.
 */

import type { AlertInputs, IdentityLabels, Signal } from '../model/alert';
import { oauth1Ending } from '../model/connection';
import { withoutAddresses } from '../model/without-addresses';
import { organizationRows } from './catalogue';
import { fingerprintOf, subjectOf } from './fingerprint';
import { firstStepFor } from './first-step';
import { plainName, plainTime } from './plain-text';
import { signalOfRow } from './signal-of-row';

type Unseen = AlertInputs['unseen'][number];

export interface UnseenOptions {
  /** More consents than this are one incident. */
  groupAbove: number;
  /** When the alerts that are open began, by fingerprint. */
  startsAtMs: ReadonlyMap<string, number>;
  nowMs: number;
}

const row = organizationRows['refused-grant'];
const many: IdentityLabels = { scope: 'many' };
const namedMax = 20;

/**
 * One for each consent; one for all while they are more than `groupAbove`, and from then on until none is left. Since when
 * the provider refuses them is stored nowhere: what is told first stays. A text names at most 20.
 */
export function unseenSignals(unseen: Unseen[], options: UnseenOptions): Signal[] {
  if (unseen.length === 0) return [];
  const isMany = unseen.length > options.groupAbove || options.startsAtMs.has(fingerprintOf(row.name, many));
  if (!isMany) return unseen.map((one) => signalOf([one], labelsOf(one), options));
  const signal = signalOf(unseen, many, options);
  const subjects = unseen.map((one) => subjectOf(labelsOf(one)));
  return [{ ...signal, covers: { names: [row.name], subjects, untilMs: signal.sinceMs } }];
}

function labelsOf({ connectionId }: Unseen): IdentityLabels {
  return { connection_id: withoutAddresses(connectionId) };
}

/** Of at least one. */
function signalOf(unseen: Unseen[], labels: IdentityLabels, { startsAtMs, nowMs }: UnseenOptions): Signal {
  const sinceMs = startsAtMs.get(fingerprintOf(row.name, labels)) ?? nowMs;
  const ids = unseen.map(({ connectionId }) => plainName(connectionId, 80));
  const more = ids.length - namedMax;
  const named = `${ids.slice(0, namedMax).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const [what, remedy] =
    ids.length === 1
      ? [`the consent of connection ${named}`, row.remedy]
      : [`${ids.length} consents (connections ${named})`, 'the user of each connection gives consent anew'];
  const description = [
    `The provider refuses ${what}, seen so since ${plainTime(sinceMs)}: no organization was seen with it yet.`,
    unseen.some(({ message }) => message?.includes(oauth1Ending)) ? oauth1Ending : '',
    `What ends it: ${remedy}, or it is removed by \`tramline connections revoke ID\`.`,
    'A refusal by mistake ends by itself: it is shown to the provider again at each start, and at last once a day.',
  ];
  const firstStep = firstStepFor(row.firstStep, ids.length === 1 ? named : 'each');
  const text = description.filter((sentence) => sentence !== '').join(' ');
  const signal = signalOfRow({ ...row, firstStep }, { labels, description: text, sinceMs });
  const until_when = 'nothing waits yet';
  return { ...signal, annotations: { ...signal.annotations, until_when } };
}
