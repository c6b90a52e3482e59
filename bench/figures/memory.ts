// Memory of `serve` over 200,000 deliveries of one element each, the whole path at work: resident memory as the system
// counts it, read four times a second from outside. Deliveries come as fast as they are accepted and go round 40,000
// resources. Growth is the trend of the last half, by the medians of its eighths: one run, many readings.
import { type Figure, type Line, line } from '../figure';
import { median, trend } from '../measure';
import { type Place, providerQuiet } from '../place';
import { residentMegabytes } from '../usage';

const deliveries = 200_000;
const resources = 40_000;
const connections = 50;
const quarters = 4;
/** Of the readings of the last half. */
const pieces = 8;
const everyMs = 250;
/**
 * 84 bytes of each of 100,000 deliveries: less than the text of the smallest notification, so that whoever keeps anything
 * of each is seen. A collection that comes a little later, or one more page of the heap, makes 3 MB once.
 */
const growthMegabytesMax = 8;

export const memory: Figure = { name: 'memory', measure };

async function measure(place: Place): Promise<Line[]> {
  await place.createTopics('memory');
  const serve = await place.serve({}, 'memory');
  const generator = await place.generator();
  const authorization = await place.authorization();
  const byQuarter: number[][] = [];
  const readings: number[] = [];
  const sampling = setInterval(() => readings.push(residentMegabytes(serve.pid)), everyMs);
  for (let quarter = 0; quarter < quarters; quarter += 1) {
    await generator.burst({
      port: serve.port,
      authorization,
      connections,
      elements: 1,
      distinct: resources,
      from: 0,
      deliveries: deliveries / quarters,
    });
    byQuarter.push(readings.splice(0));
  }
  await providerQuiet(place, 2000);
  clearInterval(sampling);
  byQuarter[quarters - 1]?.push(...readings);
  await serve.kill();
  const most = Math.max(...byQuarter.flat());
  const half = mediansOf(byQuarter.slice(quarters / 2).flat());
  const growth = trend(half) * half.length;
  return [
    line({
      figure: 'memory of serve during 200,000 deliveries, most',
      measured: most,
      floor: null,
      unit: 'MB',
      judged: most,
      bound: { kind: 'at most', value: 220, of: 'MB' },
      turns: { byQuarter },
    }),
    line({
      figure: '… growth over the last half, by its trend',
      measured: growth,
      floor: null,
      unit: 'MB',
      judged: growth,
      bound: { kind: 'at most', value: growthMegabytesMax, of: 'MB' },
      turns: { half },
    }),
  ];
}

/** The median of each piece, in order. */
function mediansOf(readings: number[]): number[] {
  const each = readings.length / pieces;
  return Array.from({ length: pieces }, (_none, piece) =>
    median(readings.slice(Math.floor(piece * each), Math.floor((piece + 1) * each))),
  );
}
