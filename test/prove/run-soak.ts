// `npm run soak`: the service under a steady load for SOAK_SECONDS (an hour when left out). Prints what its process held
// and how that changed, and exits with 1 when something grows.
import { cleanUp } from '../support/service';
import { soak, soakTable } from './soak';

async function run(): Promise<void> {
  const seconds = Number(process.env.SOAK_SECONDS ?? 3600);
  if (!Number.isSafeInteger(seconds) || seconds < 5) {
    process.stderr.write('SOAK_SECONDS is a whole number from 5\n');
    process.exitCode = 2;
    return;
  }
  try {
    const report = await soak({ seconds, seed: 1 });
    process.stdout.write(soakTable(report));
    if (report.courses.some(({ grows }) => grows)) process.exitCode = 1;
  } finally {
    await cleanUp();
  }
}

void run();
