import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeModule, startModules } from '../../support/dataproc.js'
import { MODELS, until } from '../../support/models.js'

const MB = 1024 * 1024
const LIMITS = { timeLimitS: 60, memoryBytes: 400 * MB, diskBytes: 20 * MB, printBytes: MB, maxProcesses: 40 }

/** Processes whose command line holds a text. */
function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text)
      } catch {
        return false // has ended
      }
    })
}

const BAD_SCRIPTS: Record<string, string> = {
  fails: 'echo one >&2; echo "two: no such river" >&2; exit 1',
  killed: `sh -c 'kill -9 $$'; exit $?`,
  forks: `while :; do sleep 9${process.pid} & done`,
  large: 'dd if=/dev/zero of=work/large bs=1M count=10240',
  many: 'i=0; while :; do dd if=/dev/zero of=work/f$i bs=1M count=4 2>/dev/null; i=$((i+1)); done',
  unnamed: `exec 3>work/f; rm work/f; i=0; while [ $i -lt 10 ]; do dd if=/dev/zero bs=1M count=15 >&3; i=$((i+1)); done; sleep 100`,
  prints: 'while :; do echo "yes yes yes yes yes yes yes yes yes"; done',
  prints_err: 'while :; do echo "no no no no no no no no no" >&2; done',
  removes_itself: 'rm -rf "$DATAPROC_RUN_DIR" "$DATAPROC_RUN_DIR"/* 2>/dev/null; true',
  removes_output: 'rm -rf output session/* application/*; true',
  locks_up: 'mkdir -p work/a/b; chmod 000 work/a; echo k > output/out.csv; exit 3',
  deep: 'cd work; i=0; while [ $i -lt 200 ]; do mkdir dddddddddddddddddddddddddddddddddddddddddd && cd dddddddddddddddddddddddddddddddddddddddddd; i=$((i+1)); done; exit 4',
  leaves: `sleep 8${process.pid} & setsid sleep 7${process.pid} & (setsid sh -c 'setsid sleep 6${process.pid} & exit' &) ; sleep 0.3; exit 0`,
}

for (const isolation of ['auto', 'none']) {
  t.test(`dataproc.exec: bad modules are contained and reported, isolation ${isolation}`, async (t) => {
    const gateway = await startModules(t, { ...LIMITS, isolation, maxConcurrent: 1 })
    makeModule(gateway.modulesDir, 'bad', BAD_SCRIPTS)
    await gateway.call('/api/v2/dataset/jsonrpc', 'dataset.create', {
      dataset_name: 'd',
      columns: [{ column_name: 'k', data_type: 'int' }],
    })
    const output = { out: { data_ddc: 'd' } }
    const error = async (method: string, more: object = {}) => {
      const { status, body } = await gateway.exec('bad', method, more)
      t.equal(status, 200)
      return body.error
    }

    t.match(await error('fails'), {
      code: 3004,
      message: /bad\.fails ended with exit code 1; last lines of stderr: one\ntwo: no such river/,
      data: {
        name: 'MODULE_FAILED',
        exit_code: 1,
        signal: null,
        stderr: 'one\ntwo: no such river',
        run_id: String,
      },
    })
    t.match(await error('killed'), { data: { name: 'MODULE_FAILED', exit_code: 137 } })
    t.match(await error('forks'), {
      data: { name: 'MODULE_LIMIT', limit: 'processes' },
      message: /had \d+ processes, the limit is 40/,
    })
    const large = await error('large')
    t.ok(large.data.name === 'MODULE_LIMIT' || /File too large/i.test(large.data.stderr), large.message)
    t.match(await error('many'), {
      data: { name: 'MODULE_LIMIT', limit: 'disk' },
      message: /held \d+ bytes of files, the limit is 20971520/,
    })
    t.match(await error('unnamed'), { data: { name: 'MODULE_LIMIT', limit: 'disk' } })
    t.match(await error('prints'), {
      data: { name: 'MODULE_LIMIT', limit: 'print' },
      message: /printed more than 1048576 bytes/,
    })
    t.match(await error('prints_err'), { data: { name: 'MODULE_LIMIT', limit: 'print', stderr: /no no no/ } })
    t.match(await error('removes_itself', { output }), {
      data: { name: 'BAD_OUTPUT', output: 'out' },
      message: /Output out: was not written/,
    })
    t.match(await error('removes_output', { output }), { data: { name: 'BAD_OUTPUT', output: 'out' } })
    t.match(await error('locks_up', { output }), { data: { name: 'MODULE_FAILED', exit_code: 3 } })
    t.match(await error('deep'), { data: { name: /MODULE_(FAILED|LIMIT)/ } })
    t.equal(await error('leaves'), undefined, 'a module may leave processes: they end with it')
    for (const digit of [9, 8, 7, 6]) t.same(processesWith(`${digit}${process.pid}`), [], `sleep ${digit}`)
    t.same(gateway.names('runs'), [], 'every run directory is gone')
    t.equal(gateway.names('logs').length, 13)
    const logs = path.join(gateway.dataDir, 'dataproc/logs')
    const [first = ''] = readdirSync(logs).sort()
    t.equal(readFileSync(path.join(logs, first, 'stderr'), 'utf8'), 'one\ntwo: no such river\n')
    t.match(JSON.parse(readFileSync(path.join(logs, first, 'run.json'), 'utf8')), {
      module: 'bad',
      method: 'fails',
      exit_code: 1,
      error: 'MODULE_FAILED',
    })
    t.match(
      await gateway.call('/api/v2/dataset/jsonrpc', 'dataset.citation.create', {
        citation_label: 'c',
        source: 'd',
      }),
      {
        status: 200,
      },
    )
    const { body } = await gateway.call('/api/v2/dataset/jsonrpc', 'dataset.record.get', {
      citation_label: 'c',
    })
    t.same(body.result, [], 'nothing was stored')
  })
}

const FILL = 'for n in 1 2; do dd if=/dev/zero of=$1/filling$n bs=1M count=15 2>/dev/null; done; sleep 60'

for (const isolation of ['auto', 'none'])
  t.test(`dataproc.exec: the whole run counts towards its disk limit, isolation ${isolation}`, async (t) => {
    const gateway = await startModules(t, { ...LIMITS, isolation })
    const places = ['.', 'input', 'output', 'work', 'session', 'application']
    const scripts = places.map((dir, n) => [`m${n}`, `set -- ${dir}; ${FILL}`])
    makeModule(gateway.modulesDir, 'fills', Object.fromEntries(scripts))
    for (const [n, dir] of places.entries()) {
      const { body } = await gateway.exec('fills', `m${n}`)
      t.match(body.error, { data: { name: 'MODULE_LIMIT', limit: 'disk' } }, dir)
    }
    t.same(gateway.names('runs'), [])
  })

t.test(
  'dataproc.exec: a run has its own /tmp, /dev/shm and network, where namespaces allow it',
  async (t) => {
    const gateway = await startModules(t, { ...LIMITS, isolation: 'auto' })
    const mark = `fieldgate-${process.pid}-${Date.now()}`
    const { port } = new URL(gateway.url)
    const connect = `require('net').connect(${port}, '127.0.0.1')`
    makeModule(gateway.modulesDir, 'peeks', {
      writes: `for d in /tmp /var/tmp /dev/shm; do echo x > $d/${mark} && cat $d/${mark} >/dev/null || exit 7; done`,
      fills: 'for n in 1 2; do dd if=/dev/zero of=/dev/shm/$n bs=1M count=15 2>/dev/null; done; sleep 60',
      calls: `node -e "${connect}.on('connect', () => process.exit(8)).on('error', () => process.exit(9))"`,
    })
    t.teardown(() => {
      for (const dir of ['/tmp', '/var/tmp', '/dev/shm']) rmSync(path.join(dir, mark), { force: true })
    })
    t.equal((await gateway.exec('peeks', 'writes')).body.result, true)
    const found = JSON.parse(readFileSync(path.join(gateway.dataDir, 'dataproc/isolation.json'), 'utf8'))
    if (found.kind === 'none') {
      t.pass('namespaces', { skip: 'this system forbids namespaces' })
      return
    }
    // a directory that holds the data directory itself cannot be covered
    const own = ['/tmp', '/var/tmp', '/dev/shm'].filter((dir) => !gateway.dataDir.startsWith(`${dir}/`))
    for (const dir of own) t.notOk(existsSync(path.join(dir, mark)), dir)
    t.match((await gateway.exec('peeks', 'fills')).body.error, {
      data: { name: 'MODULE_LIMIT', limit: 'disk' },
    })
    if (found.hasOwnNetwork)
      t.match((await gateway.exec('peeks', 'calls')).body.error, {
        data: { name: 'MODULE_FAILED', exit_code: 9 },
      })
    else t.pass('network', { skip: 'this system forbids network namespaces' })
    t.same(gateway.names('runs'), [])
  },
)

for (const isolation of ['auto', 'none'])
  t.test(`dataproc.exec: a link in place of output leads nowhere, isolation ${isolation}`, async (t) => {
    const gateway = await startModules(t, { ...LIMITS, isolation })
    const victim = path.join(gateway.dataDir, 'dataproc/applications/victim')
    mkdirSync(victim, { recursive: true })
    writeFileSync(path.join(victim, 'out.csv'), 'k\n1\n')
    writeFileSync(path.join(victim, 'out.model'), 'bytes of another module')
    const own = 'echo k > work/o/out.csv && echo 2 >> work/o/out.csv'
    makeModule(gateway.modulesDir, 'thief', {
      link: `rmdir output && ln -s '${victim}' output`,
      moves: `mv output work/o && ln -s '${victim}' output && ${own}`,
    })
    const DATASETS = '/api/v2/dataset/jsonrpc'
    await gateway.call(DATASETS, 'dataset.create', {
      dataset_name: 'd',
      columns: [{ column_name: 'k', data_type: 'int' }],
    })
    await gateway.call(MODELS, 'model_store.create', { model_store_ddc: 's' })
    for (const out of [{ data_ddc: 'd' }, { model_store_ddc: 's', model_kind: 'k' }]) {
      const { body } = await gateway.exec('thief', 'link', { output: { out } })
      t.match(body.error, { data: { name: 'BAD_OUTPUT', output: 'out', reason: 'was not written' } })
    }
    const models = await gateway.call(MODELS, 'model_store.model.get_info', { model_store_ddc: 's' })
    t.same(models.body.result, [])
    t.equal((await gateway.exec('thief', 'moves', { output: { out: { data_ddc: 'd' } } })).body.result, true)
    await gateway.call(DATASETS, 'dataset.citation.create', { citation_label: 'c', source: 'd' })
    const { body } = await gateway.call(DATASETS, 'dataset.record.get', { citation_label: 'c' })
    t.same(body.result, [{ k: 2 }], 'its own rows, by the directory that it was given')
    t.same(gateway.names('runs'), [])
  })

t.test('dataproc.exec: a module that hangs is ended by its time, with everything it started', async (t) => {
  const gateway = await startModules(t, { timeLimitS: 1, isolation: 'none' })
  makeModule(gateway.modulesDir, 'slow', {
    hangs: `echo waiting >&2; setsid sleep 5${process.pid} & sleep 5${process.pid}`,
    stubborn: `trap '' TERM INT HUP; while :; do sleep 1; done`,
  })
  const { body } = await gateway.exec('slow', 'hangs')
  t.match(body.error, {
    data: { name: 'MODULE_LIMIT', limit: 'time', stderr: 'waiting' },
    message: /slow\.hangs ran for 1 s, the limit/,
  })
  t.same(processesWith(`5${process.pid}`), [])
  t.match((await gateway.exec('slow', 'stubborn')).body.error, {
    data: { name: 'MODULE_LIMIT', limit: 'time' },
  })
})

t.test('dataproc.exec: memory of all processes together', async (t) => {
  const gateway = await startModules(t, { memoryBytes: 150 * MB, isolation: 'none' })
  makeModule(gateway.modulesDir, 'fat', {
    eats: `awk 'BEGIN { s = "0123456789abcdef"; while (length(s) < 900000000) s = s s; while (1) x = x + 1 }'`,
  })
  t.match((await gateway.exec('fat', 'eats')).body.error, {
    data: { name: 'MODULE_LIMIT', limit: 'memory' },
    message: /held \d+ bytes of memory, the limit is 157286400/,
  })
})

t.test('dataproc.exec: a caller that hangs up ends its run', async (t) => {
  const gateway = await startModules(t, {})
  makeModule(gateway.modulesDir, 'slow', { waits: `touch application/begun; sleep 4${process.pid}; exit 0` })
  const leave = new AbortController()
  const { apiKey, secret } = gateway.admin
  const call = fetch(`${gateway.url}/api/v1/dataproc/jsonrpc/call/dataproc.exec`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', APIKey: apiKey, Secret: secret },
    body: JSON.stringify({ module: 'slow', method: 'waits' }),
    signal: leave.signal,
  })
  const begun = path.join(gateway.dataDir, 'dataproc/applications/slow/begun')
  await until('the module has begun', () => existsSync(begun))
  leave.abort()
  await t.rejects(call)
  await until('its processes are gone', () => processesWith(`4${process.pid}`).length === 0)
  await until('its directory is gone', () => gateway.names('runs').length === 0)
})

t.test('dataproc.exec: a gateway that stops ends what runs', async (t) => {
  const gateway = await startModules(t, {}, { server: { drainMs: 500 } })
  makeModule(gateway.modulesDir, 'slow', { waits: `touch application/begun; sleep 3${process.pid}; exit 0` })
  const call = gateway.exec('slow', 'waits').catch((error: unknown) => error)
  const begun = path.join(gateway.dataDir, 'dataproc/applications/slow/begun')
  await until('the module has begun', () => existsSync(begun))
  await gateway.gateway.stop()
  await call
  t.same(processesWith(`3${process.pid}`), [])
  t.same(gateway.names('runs'), [])
})

t.test('dataproc.exec: so many at once, so many wait, the next is refused', async (t) => {
  const gateway = await startModules(t, { maxConcurrent: 1, maxQueue: 1 })
  makeModule(gateway.modulesDir, 'turn', {
    waits: 'touch application/begun; while [ ! -e application/go ]; do sleep 0.05; done',
  })
  const application = path.join(gateway.dataDir, 'dataproc/applications/turn')
  const nameOf = async (call: ReturnType<typeof gateway.exec>) => {
    const { body } = await call
    return body.error?.data.name ?? body.result
  }
  const first = nameOf(gateway.exec('turn', 'waits'))
  await until('the first has begun', () => existsSync(path.join(application, 'begun')))
  const others = [nameOf(gateway.exec('turn', 'waits')), nameOf(gateway.exec('turn', 'waits'))]
  t.equal(await Promise.race(others), 'BUSY')
  writeFileSync(path.join(application, 'go'), '')
  t.equal(await first, true)
  t.same((await Promise.all(others)).sort(), ['BUSY', true])
})
