// One answer to a request for a range of a file: what part of the file it is, if any.
import { rangeOf } from '../../../src/fetch/file-ranges';

describe('one answer', () => {
  const body = Buffer.from('abcdef');
  const of = (status: number, headers: Record<string, string>, from: number) =>
    rangeOf(status, headers, body, from, { modifiedTime: null, size: null });

  test('that is the whole file is taken from where it is wanted', () => {
    expect(of(200, {}, 2)).toEqual({
      bytes: Buffer.from('cdef'),
      bytesTotal: 6,
      version: null,
      sha256: null,
    });
    expect(of(200, {}, 7)).toEqual({ fault: 'expected more than 7 bytes, got 6' });
  });

  test('that says that nothing is left is an end', () => {
    expect(of(416, { 'content-range': 'bytes */6' }, 6)).toMatchObject({
      bytesTotal: 6,
      bytes: Buffer.alloc(0),
    });
    expect(of(416, { 'content-range': 'bytes */6' }, 5)).toBeNull();
    expect(of(416, {}, 5)).toBeNull();
  });

  test.each(['bytes 1-6/6', 'bytes 0-5/5', 'bytes 0-5/*', 'items 0-5/6', ''])(
    'with the range %j is another than was asked for',
    (said) => {
      expect(of(206, { 'content-range': said }, 0)).toEqual({
        fault: 'expected bytes from 0, got 6 bytes as another range',
      });
    },
  );

  test.each([5, 1000])('with more or less than the %i bytes that its range says is told as that', (bytes) => {
    expect(of(206, { 'content-range': `bytes 0-${bytes - 1}/2000` }, 0)).toEqual({
      fault: `expected ${bytes} bytes as its range says, got 6`,
    });
  });

  test('names its digest in the old form too, and another algorithm is none', () => {
    const base64 = Buffer.alloc(32, 255).toString('base64');
    expect(of(200, { digest: `md5=abc, SHA-256=${base64}` }, 0)).toMatchObject({ sha256: 'ff'.repeat(32) });
    expect(of(200, { 'repr-digest': 'sha-512=:abc:' }, 0)).toMatchObject({ sha256: null });
  });

  test.each([
    'text/html',
    'text/plain; charset=utf-8',
    'application/json',
    'application/vnd.acme.axiom.v3+json',
    'text/xml',
  ])('in %s is a page or an error, and no part of the file', (said) => {
    const fault = `expected application/octet-stream, got ${said.split(';', 1)[0]}, 6 bytes`;
    expect(of(200, { 'content-type': said }, 0)).toEqual({ fault });
    expect(of(206, { 'content-type': said, 'content-range': 'bytes 0-5/6' }, 0)).toEqual({ fault });
  });

  test.each(['application/octet-stream', 'application/zip', ''])('in %j is bytes', (said) => {
    expect(of(200, { 'content-type': said }, 0)).toMatchObject({ bytesTotal: 6 });
  });

  test('of any other status is no part of the file', () => {
    expect(of(204, {}, 0)).toBeNull();
  });
});
