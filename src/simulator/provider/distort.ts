// What a fault says instead of the provider, and how an answer is written the way a fault wants it: other headers, cut
// short, byte by byte, or a closed connection.
// Promises to end every answer it starts. Which fault applies is decided elsewhere.
import type { ServerResponse } from 'node:http';
import type { Fault } from '../controls/faults';
import type { Json } from '../json';

/** `nothing`: the connection ends without an answer. Undefined: the real answer is changed. */
export function saidInstead(
  fault: Fault,
): 'nothing' | { status?: number; json?: Json; text?: string | Buffer } | undefined {
  const { status, body, close, drip, truncateAt } = fault;
  if (status === undefined && body === undefined)
    return close && truncateAt === undefined && drip === undefined ? 'nothing' : undefined;
  return {
    ...(status === undefined ? {} : { status }),
    ...(body === undefined
      ? {}
      : typeof body === 'string' || Buffer.isBuffer(body)
        ? { text: body }
        : { json: body }),
  };
}

/**
 * `truncateAt` cuts the body after so many bytes and breaks the connection; together with `close` the body is
 * delimited by the end of the connection, which then looks complete. `drip` writes one byte each so many ms.
 */
export function distort(
  response: ServerResponse,
  fault: Fault,
  status: number,
  headers: Record<string, string>,
  body: Buffer,
): void {
  const all = overlay(headers, fault.headers);
  const declared = Object.keys(all).some((name) => name.toLowerCase() === 'content-length');
  if (declared) delete all['Transfer-Encoding'];
  const part = fault.truncateAt === undefined ? body : body.subarray(0, fault.truncateAt);
  if (fault.close) {
    delete all['Transfer-Encoding'];
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
    response.removeHeader('Transfer-Encoding');
    all.Connection = 'close';
  }
  response.writeHead(status, all);
  const broken = fault.truncateAt !== undefined && !fault.close;
  const end = (): void => {
    if (!broken) response.end();
    else response.destroy();
  };
  if (fault.drip !== undefined) {
    drip(response, part, fault.drip, end);
    return;
  }
  if (broken && part.length > 0) response.write(part, end);
  else if (broken) {
    response.flushHeaders();
    setImmediate(end);
  } else response.end(part);
}

function drip(response: ServerResponse, body: Buffer, everyMs: number, end: () => void): void {
  let at = 0;
  response.flushHeaders();
  const timer = setInterval(() => {
    if (response.destroyed || at >= body.length) {
      clearInterval(timer);
      if (!response.destroyed) end();
      return;
    }
    response.write(body.subarray(at, at + 1));
    at += 1;
  }, everyMs);
  response.on('close', () => clearInterval(timer));
}

/** Null takes a header away. */
function overlay(headers: Record<string, string>, changed: Fault['headers']): Record<string, string> {
  const all = { ...headers };
  for (const [name, value] of Object.entries(changed ?? {})) {
    for (const known of Object.keys(all)) if (known.toLowerCase() === name.toLowerCase()) delete all[known];
    if (value !== null) all[name] = value;
  }
  return all;
}
