// In which order suites start. Jest starts the largest files first when it has not seen them before, and the slowest are
// small files: they would begin last, side by side, with nothing left to run beside them. So they go first, and the three
// that fill all processors by themselves go one after another, each beside suites that mostly wait for a neighbour.
const { default: Sequencer } = require('@jest/test-sequencer');

/** The next suite starts when a worker is free: between two of the three stands what three workers need for the first. */
const slowFirst = [
  'faults/proof-postgres',
  ...['e2e/kafka', 'integration/publish/broker-failures', 'faults/kill-kafka', 'integration/observe/secrets'],
  ...['contract/postgres-store', 'faults/kill', 'faults/provider', 'integration/alert/convergence'],
  ...['faults/access-and-absence', 'faults/restores-postgres', 'faults/shutdown'],
  'faults/kafka',
  ...['integration/alert/deploy-files', 'faults/receiving', 'integration/neighbours/kafka', 'e2e/refusals'],
  ...['e2e/sync', 'e2e/postgres-roles', 'faults/database', 'e2e/subscriptions', 'e2e/connect-oauth2'],
  ...['e2e/provider-data', 'faults/restores-sqlite', 'contract/served-store'],
  'faults/proof-sqlite',
];

class SlowFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const at = slowFirst.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
      return at === -1 ? slowFirst.length : at;
    };
    return [...super.sort(tests)].sort((left, right) => rank(left) - rank(right));
  }
}

module.exports = Object.assign(SlowFirst, { slowFirst });
