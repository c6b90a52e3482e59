/**
 * One POST of JSON to an alert sink: bounded in time and in what is read of the answer, and no redirect is followed. It
 * knows no sink; a failure tells nothing of the address, which may be a secret.
 */

export interface Posted {
  status: number;
  /** '' when it is longer than 1 MiB, which nothing here needs. */
  text: string;
  /** How long the far side asks to be left alone, at most an hour; null when it does not say. */
  retryAfterMs: number | null;
}

const answerBytesMax = 1_048_576;
const retryAfterMsMax = 3_600_000;

/** Throws what `fetch` throws: nothing of it may be shown. */
export async function postJson(
  address: string | URL,
  body: unknown,
  deadline: AbortSignal,
  nowMs: number,
): Promise<Posted> {
  const response = await fetch(address, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: deadline,
  });
  const text = await readBounded(response);
  return { status: response.status, text, retryAfterMs: retryAfter(response, nowMs) };
}

/** The answer's text; '' when it is longer than 1 MiB. */
export async function readBounded(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.byteLength;
    // Leaving the loop cancels the rest of the body.
    if (bytes > answerBytesMax) return '';
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** RFC 9110, section 10.2.3: seconds or a date. */
function retryAfter(response: Response, nowMs: number): number | null {
  const value = response.headers.get('retry-after');
  if (value === null) return null;
  const waitMs = /^\d{1,10}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), retryAfterMsMax);
}
