// `tramline serve` for the bench: the command's own words and nothing else, so that what is measured is what ships.
import { loadSettings } from '../../src/config';
import { serve } from '../../src/main';

serve(loadSettings('serve')).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
