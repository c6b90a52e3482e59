// `tramline simulate` as a command: one line when ready, an end on a signal, and words that are refused.
import { Command } from 'commander';
import { registerSimulate } from '../../../src/commands/simulate';
import { call } from './caller';

function program(): Command {
  const root = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerSimulate(root);
  for (const command of root.commands) command.exitOverride().configureOutput({ writeErr: () => undefined });
  return root;
}

test('it prints one line of JSON when ready and ends on SIGTERM', async () => {
  const lines: string[] = [];
  const write = jest
    .spyOn(process.stdout, 'write')
    .mockImplementation((line) => lines.push(String(line)) > 0);
  const words = '--port 0 --auth oauth1 --today 2024-05-31 --organizations 2 --seed 5 --latency-ms 1'.split(
    ' ',
  );
  const running = program().parseAsync(['node', 'tramline', 'simulate', ...words]);
  while (lines.length === 0) await new Promise(setImmediate);
  write.mockRestore();
  const ready = JSON.parse(lines[0]!);
  expect(Object.keys(ready)).toEqual([
    'catalog',
    'equipment',
    'control',
    'consent',
    'issuer',
    'vendor',
    'clientKey',
    'environment',
  ]);
  expect([lines.length, lines[0]!.endsWith('\n'), ready.environment.PROVIDER_AUTH]).toEqual([
    1,
    true,
    'oauth1',
  ]);
  const state = await call(`${ready.control}state?content=false`);
  expect(state.body.organizations).toHaveLength(2);
  process.emit('SIGTERM');
  await running;
  await expect(call(`${ready.control}state`)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test.each([
  ['--port', 'x'],
  ['--organizations', '-3'],
  ['--today', 'tomorrow'],
  ['--auth', 'basic'],
  ['--deliver-to', 'nowhere'],
])('%s %s is refused before anything starts', async (option, value) => {
  await expect(program().parseAsync(['node', 'tramline', 'simulate', option, value])).rejects.toMatchObject({
    code: 'commander.invalidArgument',
  });
});
