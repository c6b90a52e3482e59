// In which order suites start. Jest starts the largest files first when it has not seen them before, and the slowest are
// small files: they would begin last, side by side, with nothing left to run beside them. What waits for a long time or
// starts many processes goes first, and not two that fill all processors at once.
const { default: Sequencer } = require('@jest/test-sequencer');

/** The next slow suite starts when a worker is free: a proof, then what mostly waits, then the other proof. */
const slowFirst = [
  'faults/proof-postgres',
  'faults/kafka',
  'faults/proof-sqlite',
  'e2e/kafka',
  'integration/publish/broker-failures',
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
