// Which file may import which. Every rule is a sentence, its comment says what to do instead, and each is broken on
// purpose in test/house/import-rules.test.ts. Type-only imports count: a type drags its room along in a reader's head.
// Direction: model, tools → rooms → pipeline → wire → main, commands → cli.

const rooms = [
  'webhook',
  'inbox',
  'store',
  'fetch',
  'normalize',
  'publish',
  'organization',
  'alert',
  'connect',
  'sync',
  'subscribe',
  'observe',
  'operations',
].join('|');

/** The npm package, or its types. */
const packages = (names) => `(^|/)node_modules/(@types/)?(${names})/`;
const builtin = (names) => `^(node:)?(${names})$`;

const clients = '^src/(fetch/client\\.ts$|alert/|connect/|commands/|demo/|simulator/)';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'model and tools import no room',
      comment:
        'The nouns and the four tools stand at the bottom. What a room needs from another is a type in src/model that both import.',
      severity: 'error',
      from: { path: '^src/(model|tools)/' },
      to: { path: '^src/', pathNot: '^src/(model|tools)/' },
    },
    {
      name: 'rooms do not import each other',
      comment:
        'A room states what it needs as a type of src/model or as a parameter, and src/wire.ts hands it in. If two rooms need the same function, ask which of them it belongs to.',
      severity: 'error',
      from: { path: `^src/(${rooms})/` },
      to: { path: `^src/(${rooms}|commands|demo)/`, pathNot: '^src/$1/' },
    },
    {
      name: 'rooms do not know who joins them',
      comment:
        'Settings reach a room as plain values, its neighbours as parameters. Only the path, the wiring and the process know the whole.',
      severity: 'error',
      from: { path: `^src/(${rooms})/` },
      to: { path: '^src/((config|wire)/|[^/]+\\.ts$)' },
    },
    {
      name: 'the path touches nothing outside',
      comment:
        'src/pipeline.ts tells the order of things. It calls pure code directly; whoever stores, asks or answers is a door of src/model that src/wire.ts hands in.',
      severity: 'error',
      from: { path: '^src/pipeline\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(model|tools|inbox|normalize|organization|publish|observe)/' },
    },
    {
      name: 'settings know no room',
      comment:
        'src/config.ts checks values and freezes them. What a room makes of its settings is the wiring’s affair.',
      severity: 'error',
      from: { path: '^src/config(\\.ts$|/)' },
      to: { path: '^src/', pathNot: '^src/(model/|tools/|config\\.ts$|config/)' },
    },
    {
      name: 'commands open no room',
      comment:
        'A command asks the running service through its API, or uses what main and the wiring give it. Then two files say what the service consists of.',
      severity: 'error',
      from: { path: '^src/(cli\\.ts$|commands/)' },
      to: { path: `^src/(${rooms})/` },
    },
    {
      name: 'only the process and the commands use the wiring',
      comment:
        'The wiring stands above everything it joins; whoever below needs something of it gets it as a parameter.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(main\\.ts$|wire\\.ts$|(commands|wire)/)' },
      to: { path: '^src/wire(\\.ts$|/)' },
    },
    {
      name: 'nothing imports the command line, and only commands and the demonstration import the process',
      comment:
        'cli turns words into one command and ends; main runs until it is told to stop. Both are entries, not libraries.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli\\.ts$|commands/|demo/)' },
      to: { path: '^src/(cli|main)\\.ts$' },
    },
    {
      name: 'commands do not import the command line',
      comment:
        'The command line finds commands in their table; a command that needs something of it gets it as a parameter.',
      severity: 'error',
      from: { path: '^src/commands/' },
      to: { path: '^src/cli\\.ts$' },
    },
    {
      name: 'the simulator shares no module with the service',
      comment:
        'It is the provider: if it used our signing, our paging or our types, one mistake could hide on both sides. Write it again, from the contract.',
      severity: 'error',
      from: { path: '^src/simulator/' },
      to: { path: '^src/', pathNot: '^src/simulator/' },
    },
    {
      name: 'only commands and the demonstration start the simulator',
      comment: 'The service meets the provider over HTTP, also when the provider is simulated.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(simulator|commands|demo)/' },
      to: { path: '^src/simulator/' },
    },
    {
      name: 'express is used where HTTP comes in',
      comment:
        'Webhook, operations, connect and the simulator have routes. Elsewhere a request has already become a value.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(webhook|operations|connect|simulator)/' },
      to: { path: packages('express|express-rate-limit|express-serve-static-core|helmet') },
    },
    {
      name: 'kafkajs has one owner',
      comment:
        'Its traps are cured in src/publish/kafka….ts; an import elsewhere would meet them uncured. Others use the publisher’s type in src/model.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/publish/kafka[^/]*\\.ts$' },
      to: { path: packages('kafkajs') },
    },
    {
      name: 'only the store opens the database',
      comment:
        'Everything durable goes through the verbs of the store, so that its guarantees are tested in one place.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/store/' },
      to: { path: `${builtin('sqlite')}|${packages('better-sqlite3|pg|kysely')}` },
    },
    {
      name: 'whoever speaks to PostgreSQL knows no verb of the store',
      comment:
        'src/store/postgres/server/ lends connections, makes transactions and tells errors. Of what is done with them it knows the names of the tables alone; what it needs besides is a parameter.',
      severity: 'error',
      from: { path: '^src/store/postgres/server/' },
      to: { path: '^src/store/', pathNot: '^src/store/postgres/(server/|tables\\.ts$)' },
    },
    {
      name: 'only a few files open connections to others',
      comment:
        'Outgoing HTTP belongs to fetch/client.ts, the alert sinks, connect, the commands, the demonstration and the simulator, sockets to Kafka to publish/sockets.ts. There are the limits on time and size; hand the client in.',
      severity: 'error',
      from: { path: '^src/', pathNot: `${clients}|^src/publish/sockets\\.ts$` },
      to: {
        path: `${builtin('https|http2|tls|dgram')}|${packages('undici|axios|got|node-fetch|oauth4webapi')}`,
      },
    },
    {
      name: 'node:http is used at the edges',
      comment:
        'The clients above, whoever listens (webhook, operations, connect, and the wiring that opens the listeners), and what bounds the connections of listeners.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: `${clients}|^src/((webhook|operations|observe|wire)/|(tools/connections|wire|main)\\.ts$)`,
      },
      to: { path: builtin('http') },
    },
    {
      name: 'only observe writes the log',
      comment:
        'Rooms return or throw. The path writes one wide line per acceptance and one per attempt, through observe.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/observe/' },
      to: { path: packages('pino|pino-[a-z-]+') },
    },
    {
      name: 'the sources import no test and no bench',
      comment:
        'What production runs must not change because a test does. Move what both need into src, where it is reviewed as such.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'the service runs on its dependencies alone',
      comment:
        'A package imported by src stands under dependencies in package.json, with its version; devDependencies are not installed in production.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'npm-optional', 'npm-peer'] },
    },
    {
      name: 'every import leads somewhere',
      comment: 'The file or package does not exist, or its name is misspelt.',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'nothing imports in a circle',
      comment:
        'Two files that need each other are one thing, or a third is missing beneath them: usually a type that belongs in src/model.',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'no file is dead',
      comment:
        'It cannot be reached from the command line, nor from the thread that the store starts by its name. Wire it, or delete it: Git remembers.',
      severity: 'error',
      from: { path: '^src/(cli|store/sqlite/thread)\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(cli|store/sqlite/thread)\\.ts$', reachable: false },
    },
  ],
  options: {
    // TypeScript 7 has no interface that dependency-cruiser knows; swc reads the sources as they are, `import type` too.
    // What swc does not see, `import('…').Type` inside a type, is refused in test/house/sources.test.ts.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.cjs', '.json'],
      conditionNames: ['node', 'require', 'types'],
    },
  },
};
