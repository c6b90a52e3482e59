// Loaded before every suite: how long one test may take, by its folder. Nothing is asserted by it: it only ends what
// hangs. A unit test takes a second at most, ten times that beside other suites on two busy cores; where real processes
// start, a minute is fair. A suite may still set its own.
const path = expect.getState().testPath ?? '';
jest.setTimeout(/[/\\]test[/\\]unit[/\\]/.test(path) ? 20_000 : 60_000);
