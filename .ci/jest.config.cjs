// How the tests run: TypeScript through swc straight from the sources, one configuration for every folder of test/.
// Suites that need a real neighbour say so through test/support/neighbour.ts; suites that start the service as a
// process use dist/, which `npm test` builds first.

const { join } = require('node:path');

// Hundreds of tests start the service or a command: what V8 compiled of its files for one of them is read by the next.
process.env.NODE_COMPILE_CACHE ??= join(__dirname, '..', '.cache', 'compiled');

const esModules = [
  'nock',
  '@mswjs/interceptors',
  '@open-draft/[a-z-]+',
  'outvariant',
  'rettime',
  'until-async',
];

/** @type {import('jest').Config} */
module.exports = {
  rootDir: '..',
  testEnvironment: '<rootDir>/.ci/environment.cjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  globalSetup: '<rootDir>/.ci/contract-rows.cjs',
  setupFiles: ['<rootDir>/test/support/deny-network.ts'],
  setupFilesAfterEnv: ['<rootDir>/test/support/time-limit.ts'],
  transform: {
    '^.+\\.(ts|js|mjs)$': [
      '@swc/jest',
      {
        swcrc: false,
        jsc: { target: 'es2024', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs' },
        // Only an inline map lets coverage count the branches of the source instead of those that swc adds.
        sourceMaps: 'inline',
      },
    ],
  },
  // Packages that come as ES modules only; what runs in jest is CommonJS, like what runs in production.
  transformIgnorePatterns: [`/node_modules/(?!(${esModules.join('|')})/)`],
  cacheDirectory: '<rootDir>/.cache/jest',
  // Two more than the two cores that CI has: suites with real neighbours wait for them two thirds of their time.
  maxWorkers: 4,
  testSequencer: '<rootDir>/.ci/sequencer.cjs',
  reporters: ['default', '<rootDir>/.ci/reporter.cjs'],
  collectCoverageFrom: ['src/**/*.ts'],
  coverageDirectory: 'coverage',
  coverageProvider: 'babel',
  coverageReporters: ['json-summary', 'text'],
};
