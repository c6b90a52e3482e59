/**
 * Whether topics may be read, which whoever begins to lead has to do before it writes behind what the store does not know. Asks,
 * and changes nothing.
 */
import { type Clock, endsWithin } from '../tools/clock';
import { describeError, kindOf } from './classify-error';
import type { TopicReader } from './read-topics';

/**
 * One sentence for each of these topics that may not be read, as a broker says at the end of one of its partitions; none where nobody
 * says so in this time. Reads no record.
 */
export async function unreadableTopics(
  reader: Pick<TopicReader, 'offsets' | 'readPage'>,
  topics: string[],
  withinMs: number,
  clock: Clock,
): Promise<string[]> {
  const faults: string[] = [];
  const asked = reader.offsets(topics, 'end').then((ends) =>
    Promise.all(
      [...Map.groupBy(ends, ({ topic }) => topic)].map(async ([topic, [end]]) => {
        const code = await reader.readPage(end!, 0).then(
          () => null,
          (error: unknown) => describeError(error).code,
        );
        if (code !== null && kindOf(code) === 'denied') faults.push(`${topic} may not be read: ${code}`);
      }),
    ),
  );
  await endsWithin(
    asked.catch(() => {}),
    withinMs,
    clock,
  );
  return faults;
}
