import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { figure, spreadText } from '../../../src/cli/bench/row.js'
import { cli } from '../../support/run-cli.js'

const PARTS = ['processor', 'disk', 'start', 'memory', 'calls', 'rows', 'routes']

t.test('bench: measures each part with gateways of its own, and leaves nothing behind', async (t) => {
  const cwd = t.testdir()
  mkdirSync(path.join(cwd, 'disk'))
  // settings of the gateway of this machine do not count
  const env = {
    PATH: process.env.PATH,
    FIELDGATE_DATA_DIR: path.join(cwd, 'theirs'),
    FIELDGATE_SERVER__PORT: '1',
  }
  const { code, stdout, stderr } = await cli(cwd, ['bench', '--dir', 'disk', '--seconds', '1', '--json'], env)
  t.equal(code, 0, stderr)
  const { machine, rows } = JSON.parse(stdout) as {
    machine: Record<string, string>
    rows: { part: string; what: string; value: string }[]
  }
  t.match(machine, { program: /^1\.2\.3, Node 24/, processor: /cores/, date: /^\d{4}-\d\d-\d\d$/ })
  t.same([...new Set(rows.map(({ part }) => part))].toSorted(), PARTS.toSorted())
  for (const { part, what, value } of rows) t.match(value, /\d/, `${part}: ${what}`)
  t.match(rows.find(({ part }) => part === 'calls')?.value, /^\d+ calls\/s; a request [\d.]+, p95 [\d.]+ ms/)
  t.same(readdirSync(path.join(cwd, 'disk')), [], 'its folder is gone')
  t.notOk(existsSync(path.join(cwd, 'theirs')))
})

t.test('bench: refuses a folder that does not exist and lengths that make no sense', async (t) => {
  const cwd = t.testdir()
  t.match(await cli(cwd, ['bench', '--dir', 'nowhere']), { code: 1, stderr: /ENOENT/ })
  for (const seconds of ['0', '61', 'x'])
    t.match(await cli(cwd, ['bench', '--seconds', seconds]), {
      code: 2,
      stderr: /expected a number from 1 to 60/,
    })
})

t.test('bench: figures have three digits that count', (t) => {
  t.same([1234.5, 100, 56.78, 1.234, 0].map(figure), ['1235', '100', '56.8', '1.23', '0.00'])
  t.equal(spreadText(Array.from({ length: 100 }, (_, i) => i)), '50.0, p95 95.0')
  t.equal(spreadText([3]), '3.00, p95 3.00')
  t.end()
})
