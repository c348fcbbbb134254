// npm run bench -- NAME…: figures beside a baseline in the same run. Without a name: all of them.
import os from 'node:os'

const BENCHES = [
  'rpc',
  'mixed',
  'wear',
  'loader',
  'export',
  'writers',
  'feeds',
  'feeds-link',
  'changes',
  'ingest',
  'retention',
  'eventdata',
  'dataset',
  'routing',
  'routing-exact',
  'routing-turns',
  'routing-islands',
  'routing-load',
  'routing-valhalla',
  'cch',
  'instructions',
  'tiles',
  'console',
  'model-delta',
  'model-rounds',
  'postgres',
  'postgis',
  'hub',
  'hub-reads',
  'hub-models',
  'footprint',
  'scaling',
]
const asked = process.argv.slice(2).filter((name) => !name.startsWith('-'))
const unknown = asked.filter((name) => !BENCHES.includes(name))
if (unknown.length > 0) {
  console.error(`bench: found ${unknown.join(', ')}, expected any of ${BENCHES.join(', ')}`)
  process.exit(2)
}
const [cpu] = os.cpus()
console.log(
  `${os.availableParallelism()} cores ${cpu?.model ?? ''}, ${Math.round(os.totalmem() / 2 ** 30)} GiB, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
)
for (const name of asked.length > 0 ? asked : BENCHES) {
  console.log(`\n## ${name}`)
  const { run } = await import(`./${name}.mjs`)
  await run()
}
