// Says what happens to a suite whose real neighbour (Kafka, Alertmanager, PostgreSQL) may be missing on this machine:
// it runs where the neighbour is, is skipped with the reason named at the end of the run where it is not, and fails
// under CI=true. What a clone brings or does not, its history, is no neighbour that anybody could install: it may be
// missing there, too. Nothing here starts anything.

/** What a neighbour says of itself: there, or not there and why (one short sentence, no secret, no path). */
export type Availability = { available: true } | { available: false; reason: string; mayBeMissing?: true };

/**
 * Like `describe`, for a suite that needs a neighbour. The reason of a skip stands in the title, where the reporter
 * finds it. With `CI=true` a missing neighbour is one failing test that says the reason, unless it may be missing.
 */
export function describeWithNeighbour(
  neighbour: string,
  availability: Availability,
  title: string,
  body: () => void,
): void {
  if (availability.available) {
    describe(title, body);
    return;
  }
  const reason = `${neighbour}: ${availability.reason}`;
  if (process.env.CI === 'true' && availability.mayBeMissing !== true) {
    describe(title, () => {
      test(`${neighbour} is there, since CI=true says that every neighbour must be`, () => {
        throw new Error(reason);
      });
    });
    return;
  }
  describe.skip(`${title} [skipped: ${reason}]`, body);
}
