import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { loadConfig, type Settings } from '../../src/config/config.js'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const succeeds = (program: string, ...argv: string[]) =>
  spawnSync(program, argv, { stdio: 'ignore' }).status === 0
const PYTHON = '/usr/bin/python3'
/** @returns reason for which tests that need a module of Debian's Python are skipped */
const without = (module: string) =>
  succeeds(PYTHON, '-c', `import ${module}`) ? false : `skipped: python3-${module} is not installed`
const noYaml = without('yaml')
/** Compose of this machine: the plugin of docker, or the program of Debian 12, which needs no docker to check a file. */
const compose = [['docker', 'compose'], ['docker-compose']].find(([program = '', ...words]) =>
  succeeds(program, ...words, 'version'),
)
const noCompose =
  compose === undefined ? 'skipped: neither docker compose nor docker-compose is installed' : false
const noHaproxy = succeeds('haproxy', '-v') ? false : 'skipped: haproxy is not installed'

/** Reads the documents of a YAML file. */
function readYaml(file: string): Record<string, never>[] {
  const program = 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))'
  return JSON.parse(execFileSync(PYTHON, ['-c', program, file], { encoding: 'utf8' }))
}

/** Returns the flags of Node that the unit of a hub has. */
const flagOfUnit = () =>
  /ExecStart=\S+ (--node-options=\S+) serve/.exec(
    readFileSync('scripts/deb/fieldgate-hub.service', 'utf8'),
  )?.[1]

const faultsOf = (settings: Settings) => {
  const loaded = loadConfig(null, {}, settings)
  return 'faults' in loaded ? loaded.faults : []
}

t.test('deploy: the settings of a hub have no fault', async (t) => {
  t.same(faultsOf(JSON.parse(readFileSync('deploy/hub.config.json', 'utf8'))), [])
})

t.test('deploy: compose.yaml runs two equal processes after hub init', { skip: noYaml }, async (t) => {
  const [compose] = readYaml('deploy/compose.yaml') as unknown as [
    {
      services: Record<
        string,
        { image: string; command: string[]; depends_on: object; volumes: readonly string[] }
      >
    },
  ]
  const { init, hub1, hub2 } = compose?.services ?? {}
  t.same(hub1, hub2)
  t.ok(hub1?.volumes.includes('./maps:/var/lib/fieldgate/maps:ro'), 'both have the same maps')
  t.equal(hub1?.image, `fieldgate:${version}`)
  t.match(hub1?.command, [flagOfUnit(), 'serve', '--config'])
  t.match(init?.command, ['hub', 'init', '--config'])
  t.match(hub1?.depends_on, { init: { condition: 'service_completed_successfully' } })
})

t.test(
  'deploy: compose takes compose.yaml, and refuses a field that it does not know',
  { skip: noCompose },
  async (t) => {
    const dir = path.join(t.testdir(), 'deploy')
    cpSync('deploy', dir, { recursive: true })
    for (const secret of ['database-password', 'access-key', 'secret-key'])
      writeFileSync(path.join(dir, secret), 'x')
    const file = path.join(dir, 'compose.yaml')
    const [program = '', ...words] = compose ?? []
    const isOld = /^docker-compose version 1\./.test(
      spawnSync(program, [...words, 'version'], { encoding: 'utf8' }).stdout,
    )
    // Compose 2 brought the name of a project, at the top of the file
    const text = readFileSync(file, 'utf8').replace(/^name: .*\n/m, (line) => (isOld ? '' : line))
    const check = (checked: string) => {
      writeFileSync(file, checked)
      return spawnSync(program, [...words, '-f', file, 'config', '-q'], { encoding: 'utf8' })
    }
    const { status, stderr } = check(text)
    t.equal(status, 0, stderr)
    const refused = check(text.replace('read_only:', 'readonly:'))
    t.not(refused.status, 0)
    t.match(refused.stderr, /readonly/)
  },
)

t.test(
  "deploy: kubernetes.yaml has the fields of Kubernetes' own types alone",
  { skip: noYaml || without('kubernetes') },
  async (t) => {
    const faultsIn = (file: string) =>
      execFileSync(PYTHON, ['test/support/kubernetes-faults.py', file], { encoding: 'utf8' })
    t.equal(faultsIn('deploy/kubernetes.yaml'), '')
    const wrong = path.join(t.testdir(), 'wrong.yaml')
    const text = readFileSync('deploy/kubernetes.yaml', 'utf8')
    writeFileSync(wrong, text.replace('replicas: 2', 'replicas: two').replace('topologyKey:', 'topology:'))
    const faults = faultsIn(wrong)
    for (const found of [
      /replicas: found 'two', expected int/,
      /topology: unknown/,
      /`topology_key`, must not/,
    ])
      t.match(faults, found)
  },
)

t.test(
  'deploy: kubernetes.yaml asks the health paths, and its settings have no fault',
  { skip: noYaml },
  async (t) => {
    const documents = readYaml('deploy/kubernetes.yaml') as unknown as {
      kind: string
      data: Record<string, string>
      spec: { template: { spec: { containers: object[] } } }
    }[]
    const of = (kind: string) => documents.find((document) => document.kind === kind)
    t.same(faultsOf(JSON.parse(of('ConfigMap')?.data['hub.config.json'] ?? '{}')), [])
    t.match(of('Deployment')?.spec.template.spec.containers, [
      {
        image: `fieldgate:${version}`,
        args: [flagOfUnit(), 'serve'],
        livenessProbe: { httpGet: { path: '/healthz' } },
        readinessProbe: { httpGet: { path: '/readyz' } },
      },
    ])
  },
)

t.test('deploy: haproxy takes its configuration', { skip: noHaproxy }, async (t) => {
  const { status, stderr } = spawnSync('haproxy', ['-c', '-f', 'deploy/haproxy.cfg'], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
})

t.test('deploy: the unit of a hub is that of a gateway but for its names and its files', async (t) => {
  const lines = (name: string) => readFileSync(`scripts/deb/${name}.service`, 'utf8').split('\n')
  const gateway = new Set(lines('fieldgate'))
  const own = lines('fieldgate-hub').filter((line) => !gateway.has(line) && !line.startsWith('#'))
  t.same(
    own.map((line) => line.split('=')[0]),
    [
      ...['Description', 'After', 'Wants', 'ConditionPathExists', 'ExecStart'],
      ...['StateDirectory', 'CacheDirectory', 'RuntimeDirectory', 'LimitNOFILE'],
    ],
  )
})
