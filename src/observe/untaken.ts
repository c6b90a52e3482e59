/**
 * What a collector does not take is dropped and nothing waits for it: this says so once in a while, where otherwise only
 * empty dashboards would. The SDK tells of it as an error to whoever listens.
 */
import { DiagLogLevel, diag } from '@opentelemetry/api';

/** An outage of the collector is one line an hour: it is known by then, and nothing else suffers from it. */
const tellGapMs = 3_600_000;
const reasonCharsMax = 200;

/**
 * `tell` gets one sentence at once, and at most one an hour; a reason in it is cut at 200 characters. Whoever listened
 * before hears nothing any more: there is one listener in a process.
 */
export function tellUntaken(tell: (detail: string) => void, nowMs: () => number): void {
  let toldAtMs = Number.NEGATIVE_INFINITY;
  const quiet = (): void => {};
  const error = (text: string): void => {
    if (nowMs() - toldAtMs < tellGapMs) return;
    toldAtMs = nowMs();
    const reason = reasonOf(text).slice(0, reasonCharsMax);
    tell(
      `The collector did not take traces or metrics, which are dropped: ${reason}. Work goes on without it.`,
    );
  };
  const logger = { error, warn: quiet, info: quiet, debug: quiet, verbose: quiet };
  diag.setLogger(logger, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
}

/** An error comes as a JSON object of its fields, or as the text of what was expected. */
function reasonOf(text: string): string {
  try {
    const { message, code } = JSON.parse(text) as { message?: unknown; code?: unknown };
    return typeof code === 'string' ? `${message} (${code})` : String(message);
  } catch {
    return text;
  }
}
