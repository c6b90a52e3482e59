// Memory of `serve` over 200,000 deliveries of one element each, the whole path at work: resident memory as the system
// counts it, read four times a second from outside. Deliveries come as fast as they are accepted and go round 40,000
// resources. Growth is judged twice, since what V8 keeps rises and falls by 20 MB while nothing grows: by the median from
// the third quarter to the fourth, and by what the last half reaches above all that was reached before. One run.
import { type Figure, type Line, line } from '../figure';
import { median } from '../measure';
import { type Place, providerQuiet } from '../place';
import { residentMegabytes } from '../usage';

const deliveries = 200_000;
const resources = 40_000;
const connections = 50;
const quarters = 4;
const everyMs = 250;
/**
 * Of 100,000 deliveries this is 84 bytes each, less than the text of any: whoever keeps something of each is seen. What
 * comes once, such as one more page of the heap, is 3 or 4 MB.
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
  const medians = byQuarter.map((ofQuarter) => median(ofQuarter));
  const growth = (medians[quarters - 1] as number) - (medians[quarters - 2] as number);
  const [before, after] = [byQuarter.slice(0, quarters / 2), byQuarter.slice(quarters / 2)].map((half) =>
    Math.max(...half.flat()),
  ) as [number, number];
  const most = Math.max(before, after);
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
    grown('… growth of the median from the third quarter to the fourth', growth, { medians }),
    grown('… growth of the most in the last half over the most before', after - before, { before, after }),
  ];
}

function grown(figure: string, megabytes: number, turns: Line['turns']): Line {
  const bound = { kind: 'at most', value: growthMegabytesMax, of: 'MB' } as const;
  return line({ figure, measured: megabytes, floor: null, unit: 'MB', judged: megabytes, bound, turns });
}
