// kafkajs for tests that look at Kafka from outside. Its queue looks after waiting requests by a timer that it arms also
// when nothing waits, for a time that is long past: Node warns of that once in each process, and the warning would stand
// in the output of a run in which all is well. Whoever adds to the queue arms it, so an empty one needs none.
export * from 'kafkajs';

interface RequestQueue {
  pending: unknown[];
  scheduleCheckPendingRequests(): void;
}

const { prototype } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
const { scheduleCheckPendingRequests } = prototype;
prototype.scheduleCheckPendingRequests = function whenAnyWaits(this: RequestQueue) {
  if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
};
