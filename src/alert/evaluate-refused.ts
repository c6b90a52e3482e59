/**
 * Signals for refused consents for which no organization is blocked: it saw none, or what it saw is read through others.
 * No organization tells of these, so each is an incident of its own, and more of them than are told one by one are one. Pure.
 */

import type { AlertInputs, Covers, IdentityLabels, Signal } from '../model/alert';
import { oauth1Ending } from '../model/connection';
import { withoutAddresses } from '../model/without-addresses';
import { organizationRows } from './catalogue';
import { fingerprintOf, subjectOf } from './fingerprint';
import { firstStepFor } from './first-step';
import { plainName, plainTime } from './plain-text';
import { signalOfRow } from './signal-of-row';

type Refused = AlertInputs['refusedConnections'][number];

export interface RefusedOptions {
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
 * One for each consent, under the name and label of the alert that tells of the organizations blocked for one, so that it
 * goes on there; one for all while they are more than `groupAbove`, and from then on until none is left. Since when the
 * provider refuses them is stored nowhere: what is told first stays. A text names at most 20.
 */
export function refusedSignals(
  { refusedConnections, blocked }: Pick<AlertInputs, 'refusedConnections' | 'blocked'>,
  options: RefusedOptions,
): Signal[] {
  const told = new Set(
    blocked.flatMap(({ cause, concerns, connectionId }) =>
      cause === 'refused-grant' && concerns ? [connectionId] : [],
    ),
  );
  const untold = refusedConnections.filter(({ connectionId }) => !told.has(connectionId));
  if (untold.length === 0) return [];
  const isMany = untold.length > options.groupAbove || options.startsAtMs.has(fingerprintOf(row.name, many));
  if (!isMany)
    return untold.map((one) => ({ ...signalOf([one], labelsOf(one), options), covers: ofOne(one) }));
  const signal = signalOf(untold, many, options);
  const subjects = untold.map((one) => subjectOf(labelsOf(one)));
  return [{ ...signal, covers: { names: [row.name], subjects, untilMs: signal.sinceMs } }];
}

function labelsOf({ connectionId }: Refused): IdentityLabels {
  return { connection_id: withoutAddresses(connectionId) };
}

/** Nothing but itself: as one of a kind of which many may come, it waits for those that are still to be judged. */
function ofOne(one: Refused): Covers {
  return { names: [row.name], subjects: [subjectOf(labelsOf(one))], untilMs: null };
}

/** Of at least one. */
function signalOf(refused: Refused[], labels: IdentityLabels, { startsAtMs, nowMs }: RefusedOptions): Signal {
  const sinceMs = startsAtMs.get(fingerprintOf(row.name, labels)) ?? nowMs;
  const ids = refused.map(({ connectionId }) => plainName(connectionId, 80));
  const more = ids.length - namedMax;
  const named = `${ids.slice(0, namedMax).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const [what, it, remedy] =
    ids.length === 1
      ? [`the consent of connection ${named}`, 'it', row.remedy]
      : [
          `${ids.length} consents (connections ${named})`,
          'them',
          'the user of each connection gives consent anew',
        ];
  const sentences = [
    `The provider refuses ${what}, seen so since ${plainTime(sinceMs)}: ${standing(refused)}.`,
    refused.some(({ message }) => message?.includes(oauth1Ending)) ? oauth1Ending : '',
    `What was subscribed with ${it} is renewed only where another connection lists it.`,
    `What ends it: ${remedy}, or, where it is not needed, \`tramline connections revoke ID\`.`,
    'A refusal by mistake ends by itself: it is shown to the provider again at each start, and at last once a day.',
  ];
  const firstStep = firstStepFor(row.firstStep, ids.length === 1 ? named : 'each');
  const further = { until_when: 'nothing waits for it alone' };
  return signalOfRow({ ...row, firstStep }, { labels, sentences, further, sinceMs });
}

/** What becomes of what they see. */
function standing(refused: Refused[]): string {
  if (refused.length > 1) return 'no organization is blocked for one of them alone';
  const [{ sees, alone }] = refused as [Refused];
  if (sees === 0) return 'no organization was seen with it yet';
  if (alone === 0) return 'its organizations are read through others';
  return `${alone} of the ${sees} organizations that it saw are seen with no valid consent any more`;
}
