/**
 * The provider's reads seen as spans, below the attempt that makes them. One read is one span, whatever number of calls
 * it takes; a read that asks nothing, since its address is refused or nobody may read it, has none. What was sent once
 * more within it, and by how many attempts before it, is its resend count.
 */
import type { ProviderClient } from '../fetch/provider-client';
import type { Answer } from '../model/answer';
import type { Observer } from '../observe/observer';
import type { ProviderDoor } from '../pipeline';

/** The same reads, each inside a span that goes on with the trace of its delivery. Rejects as the read does. */
export function traceReads(
  provider: Pick<ProviderClient, 'read'>,
  observer: Pick<Observer, 'startFetch'>,
): ProviderDoor['read'] {
  return async (task, signal, traceparent) => {
    const template = task.resource?.kind ?? 'resource';
    const span = observer.startFetch(traceparent, { template, address: task.address });
    const read = await provider.read(task, signal);
    const { calls, resends, status } = read.cost;
    const resendCount = task.attempts + resends;
    // A span that is not ended is not exported.
    if (calls > 0) span.end({ status, errorType: errorTypeOf(read.answer), resendCount });
    return read;
  };
}

function errorTypeOf(answer: Answer): string | null {
  switch (answer.kind) {
    case 'ok':
    case 'not-modified':
      return null;
    case 'transient':
    case 'refused':
      return answer.code;
    default:
      return answer.kind;
  }
}
