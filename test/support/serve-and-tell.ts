// The service as `serve` builds it, in a process that tells what it holds.
import './tell-resources';
import { loadSettings } from '../../src/config';
import { serve } from '../../src/main';

serve(loadSettings('serve')).then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  },
);
