// OAuth 1.0a signatures a second on one core, by the service's own signer in a process of its own; beside it, as the
// floor, HMAC-SHA1 alone over a base string that is given.
import { startChild } from '../child';
import { type Figure, type Line, line } from '../figure';
import { median } from '../measure';
import type { Place } from '../place';

export const signing: Figure = { name: 'signing', measure };

async function measure({ folder }: Place): Promise<Line[]> {
  const { ready } = await startChild('bench/programs/sign', folder, {});
  const { measured, floor } = ready as { measured: number[]; floor: number[] };
  const rate = median(measured);
  return [
    line({
      figure: 'requests signed with OAuth 1.0a, one core',
      measured: rate,
      floor: median(floor),
      unit: 'requests/s',
      judged: rate,
      bound: { kind: 'at least', value: 20_000, of: 'requests/s' },
      turns: { measured, floor },
    }),
  ];
}
