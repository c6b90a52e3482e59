// The provider's stand-in for the bench: the simulator as a process of its own, with the options that the environment
// gives as JSON. It prints the line that says where it is.
import type { SimulatorOptions } from '../../src/simulator/options';
import { startSimulator } from '../../src/simulator/simulator';

const options = JSON.parse(process.env.SIMULATOR_OPTIONS ?? '{}') as SimulatorOptions;

void startSimulator(options).then(({ close: _untilKilled, ...ready }) => {
  process.stdout.write(`${JSON.stringify(ready)}\n`);
});
