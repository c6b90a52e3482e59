// `tramline serve` that measures nothing, under which telemetry is judged: no setting turns off what `/metrics` counts. It
// must differ from what ships in nothing else.
import type { Metrics } from '../../src/observe/metrics';

const nothing = () => {};
const uncounted: Metrics = {
  deliveryAccepted: nothing,
  deliveryRefused: nothing,
  requestBegan: nothing,
  requestEnded: nothing,
  attempt: nothing,
  providerCall: nothing,
  sent: nothing,
  throttled: nothing,
  topicLostRecords: nothing,
  alertPost: nothing,
  setAside: nothing,
  syncEnded: nothing,
  listingRefused: nothing,
  fault: nothing,
  stop: nothing,
};

const metrics = require('../../src/observe/metrics') as { makeMetrics(): Metrics };
metrics.makeMetrics = () => uncounted;
// Loaded only now: whoever makes metrics finds these.
require('./serve');
