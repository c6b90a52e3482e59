// Loaded before every suite: how long one test may take, by its folder. A unit test that needs more than five seconds
// is not a unit test; where real processes start, a minute is fair on two busy cores. A suite may still set its own.
const path = expect.getState().testPath ?? '';
jest.setTimeout(/[/\\]test[/\\]unit[/\\]/.test(path) ? 5_000 : 60_000);
