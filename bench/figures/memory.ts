// Memory of `serve` over 200,000 deliveries of one element each, the whole path at work: resident memory as the system
// counts it, read twice a second from outside. Deliveries come as fast as they are accepted and go round 40,000
// resources. Growth is judged between the third and the fourth quarter, by the median of each: one run, many readings.
import { type Figure, type Line, line } from '../figure';
import { median } from '../measure';
import { type Place, providerQuiet } from '../place';
import { residentMegabytes } from '../usage';

const deliveries = 200_000;
const resources = 40_000;
const connections = 50;
const quarters = 4;
const everyMs = 250;
/** What a collector that runs a little later makes; growth of more than this is growth. */
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
  const medians = byQuarter.map((ofQuarter) => median(ofQuarter));
  const most = Math.max(...byQuarter.flat());
  const growth = (medians[quarters - 1] as number) - (medians[quarters - 2] as number);
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
      figure: '… growth from the third quarter to the fourth',
      measured: growth,
      floor: null,
      unit: 'MB',
      judged: growth,
      bound: { kind: 'at most', value: growthMegabytesMax, of: 'MB' },
      turns: { medians },
    }),
  ];
}
