// fast-check as every suite takes it: with a seed of its own, so that the same commit is judged by the same generated
// cases wherever it is judged. `TEST_SEED=N` tries others; `TEST_SEED=random` any. What fails prints its seed and path.
import fc from 'fast-check';

const wanted = process.env.TEST_SEED ?? '20260';
if (wanted !== 'random') fc.configureGlobal({ seed: Number(wanted) });

export default fc;
