// Where a suite runs. With --coverage jest copies what the suite counted of every file that it loaded, sends it to the
// process that adds up, and adds it up. What is asked of it is which places were reached at all; so a file that a suite
// took no further than the suites of its worker before it is left out of what it hands over.
const { TestEnvironment } = require('jest-environment-node');

/** By file, of all suites of this worker: whether each place was reached. */
const reached = new Map();

class Environment extends TestEnvironment {
  async handleTestEvent({ name }) {
    if (name === 'run_finish') keepNews(this.global.__coverage__ ?? {}, reached);
  }
}

/** Takes away the files of which every place that was reached had been reached before, and marks those of the others. */
function keepNews(files, before) {
  for (const [path, { s, f, b }] of Object.entries(files)) {
    const counts = [...Object.values(s), ...Object.values(f), ...Object.values(b).flat()];
    const known = before.get(path);
    if (known !== undefined && counts.every((count, at) => count === 0 || known[at])) delete files[path];
    else
      before.set(
        path,
        counts.map((count, at) => count > 0 || known?.[at] === true),
      );
  }
}

module.exports = Object.assign(Environment, { keepNews });
