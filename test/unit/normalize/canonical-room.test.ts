import { CanonicalRoom } from '../../../src/normalize/canonical-room';

const texts = [
  '',
  'plain ~ text',
  'a "quoted" word',
  'back\\slash',
  'line\nbreak\u0000',
  '\u007f',
  'Grünland 日本 😀',
  'lone \ud800',
];

describe('the room of canonical text', () => {
  test.each(texts)('text is quoted as JSON.stringify does: %j', (text) => {
    const room = new CanonicalRoom();
    room.begin();
    room.plain('[');
    room.quoted(text);
    room.plain(']');
    expect(room.written().toString()).toBe(`[${JSON.stringify(text)}]`);
  });

  test('it grows with what is written, whichever way that comes', () => {
    const room = new CanonicalRoom();
    const ascii = 'x'.repeat(70_000);
    const wide = 'ü'.repeat(70_000);
    room.begin();
    room.plain(ascii);
    room.quoted(ascii);
    room.quoted(wide);
    room.copy(Buffer.from(ascii));
    expect(room.written().toString()).toBe(`${ascii}"${ascii}""${wide}"${ascii}`);
  });

  test('a beginning forgets what was there, also after a text so large that its room is given up', () => {
    const room = new CanonicalRoom();
    room.begin();
    room.plain('x'.repeat(2_000_000));
    room.begin();
    room.quoted('a');
    expect(room.written().toString()).toBe('"a"');
    expect(room.written().buffer.byteLength).toBeLessThan(100_000);
  });
});
