// Goal: a connection uses what the files say when it is made; what does not fit changes nothing, and is told once.
import type { TlsTexts } from '../../../src/publish/client-config';
import { makeTlsFiles } from '../../../src/publish/tls-files';
import { makeHandClock } from '../../support/hand-clock';

const of = (name: string): TlsTexts => ({ ca: null, cert: name, key: null });

function stage() {
  const clock = makeHandClock(0);
  const told: string[] = [];
  /** What is read next, in turn; the last one stays. */
  let texts: (TlsTexts | string)[] = [of('first')];
  let reads = 0;
  const read = () => {
    reads += 1;
    const said = texts.length > 1 ? texts.shift()! : texts[0]!;
    if (typeof said === 'string') throw new Error(said);
    return said;
  };
  return {
    files: makeTlsFiles(of('first'), { read, unfit: (reason) => told.push(reason), clock }),
    told,
    reads: () => reads,
    async later(...said: typeof texts) {
      texts = said;
      await clock.advance(5_000);
    },
  };
}

test('what was renewed is used by the next connection', async () => {
  const { files, told, later } = stage();
  expect(files.now()).toEqual(of('first'));
  await later(of('second'));
  expect(files.now()).toEqual(of('second'));
  expect([files.unfit(), told]).toEqual([null, []]);
});

test('many connections at once read the files once', async () => {
  const { files, reads, later } = stage();
  for (let connection = 0; connection < 9; connection += 1) files.now();
  expect([files.unfit(), reads()]).toEqual([null, 1]);
  await later(of('second'));
  files.now();
  expect(reads()).toBe(2);
});

test('a folder that is replaced between two of its files is read again at once', async () => {
  const { files, told, later } = stage();
  await later('of two pairs', of('second'));
  expect(files.now()).toEqual(of('second'));
  expect([files.unfit(), told]).toEqual([null, []]);
});

test('what does not fit leaves what was used last, and is told once for each reason, and again when it returns', async () => {
  const { files, told, later } = stage();
  await later(of('second'));
  files.now();
  await later('KAFKA_CERT_FILE must be …\nKAFKA_KEY_FILE must be …');
  expect(files.now()).toEqual(of('second'));
  const reason = 'KAFKA_CERT_FILE must be …; KAFKA_KEY_FILE must be …';
  expect([files.unfit(), told]).toEqual([reason, [reason]]);
  await later('KAFKA_CERT_FILE must be …\nKAFKA_KEY_FILE must be …');
  files.now();
  expect(told).toEqual([reason]);
  await later('of two pairs');
  files.now();
  expect(told).toEqual([reason, 'of two pairs']);
  await later(of('third'));
  expect([files.now(), files.unfit()]).toEqual([of('third'), null]);
  await later('of two pairs');
  expect([files.now(), files.unfit()]).toEqual([of('third'), 'of two pairs']);
  expect(told).toEqual([reason, 'of two pairs', 'of two pairs']);
});
