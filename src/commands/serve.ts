/**
 * `tramline serve`: reads the settings to serve, and hands the process to main, which is loaded once they are right.
 */
import type { Command } from 'commander';
import { lendToTelemetry, loadSettings } from '../config';
import type * as Main from '../main';

export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('receive deliveries, read what changed, publish events (ROLE decides which)')
    .action(async () => {
      const loaded = loadSettings('serve');
      lendToTelemetry();
      const { serve } = require('../main') as typeof Main;
      process.exitCode = await serve(loaded);
      process.exit();
    });
}
