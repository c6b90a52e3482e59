import { openStandardOutput } from '../../../src/observe/standard-output';

function makeWriter() {
  const told: string[] = [];
  return {
    told,
    write: (bundle: string) => told.push(bundle),
    flush: () => void told.push('flush'),
    flushSync: () => void told.push('flushSync'),
    dropped: () => 7,
  };
}

describe('standard output', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('lines leave as one bundle a quarter of a second later, in order', () => {
    const writer = makeWriter();
    const output = openStandardOutput(writer);
    output.write('one\n');
    output.write('two\n');
    expect(writer.told).toEqual([]);
    jest.advanceTimersByTime(250);
    expect(writer.told).toEqual(['one\ntwo\n', 'flush']);
    output.close();
  });

  test('a full bundle leaves at once', () => {
    const writer = makeWriter();
    const output = openStandardOutput(writer);
    const line = `${'x'.repeat(999)}\n`;
    for (let count = 0; count < 33; count += 1) output.write(line);
    expect(writer.told).toEqual([line.repeat(33)]);
    output.close();
  });

  test('closing writes what is gathered, and a later line leaves at once', () => {
    const writer = makeWriter();
    const output = openStandardOutput(writer);
    output.write('one\n');
    output.close();
    output.write('two\n');
    expect(writer.told).toEqual(['one\n', 'flushSync', 'two\n', 'flushSync']);
  });

  test('a process that exits writes out what is gathered, and a closed output no longer listens', () => {
    const before = process.listeners('exit');
    const writer = makeWriter();
    const output = openStandardOutput(writer);
    const [added, ...others] = process.listeners('exit');
    expect(others).toEqual(before);
    output.write('one\n');
    added?.call(process, 1);
    expect(writer.told).toEqual(['one\n', 'flushSync']);
    output.close();
    expect(process.listeners('exit')).toEqual(before);
  });

  test('closing survives that standard output is gone', () => {
    const writer = makeWriter();
    const gone = () => {
      throw new Error('EPIPE');
    };
    const output = openStandardOutput({ ...writer, write: gone, flushSync: gone });
    output.write('one\n');
    expect(() => output.close()).not.toThrow();
  });
});
