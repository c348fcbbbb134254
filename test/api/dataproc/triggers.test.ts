import t from 'tap'
import { DATAPROC, LOADER, makeModule, startModules } from '../../support/dataproc.js'
import { until } from '../../support/models.js'

const point = (k: number) => ({
  ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [139, 35] }, properties: { k } },
})

t.test('triggers: a change of a table runs a module, whose output is there', async (t) => {
  const gateway = await startModules(t)
  makeModule(gateway.modulesDir, 'm', {
    make: 'echo "made" >&2; printf "k\\n%s\\n" "$DATAPROC_PARAM_big" > output/out.csv',
    fail: 'echo "no rain" >&2; exit 3',
  })
  const call = async (method: string, params: object = {}) => {
    const { body } = await gateway.call(DATAPROC, `dataproc.${method}`, params)
    if (body.error !== undefined) throw new Error(JSON.stringify(body.error))
    return body.result
  }
  for (const data_name of ['rain', 'wet'])
    await gateway.call(LOADER, 'loaderwebapi.register_loader', {
      ...{ data_name, record_def: { k: { udt_name: 'int8' } }, unique_columns: ['k'] },
    })
  const made = await call('create_trigger', {
    ...{ name: 'wet', on: { table: 'rain' }, module: 'm', method: 'make', wait_s: 0 },
    ...{ output: { out: { data_ddc: 'wet' } }, params: { big: 9007199254740 } },
  })
  t.match(made, {
    name: 'wet',
    on: { table: 'rain' },
    enabled: true,
    running: false,
    last_run: null,
    next: null,
  })
  await gateway.call(LOADER, 'loaderwebapi.add_record', { data_name: 'rain', record_set: [point(1)] })
  const runs = async (name?: string) => await call('list_trigger_runs', { name })
  await until('the run has ended', async () => (await runs('wet'))[0]?.state === 'done')
  t.match(await runs('wet'), [{ exit_code: 0, error: null, last_lines: 'made', attempts: 1, count: 1 }])
  const { body } = await gateway.call('/api/v1/svcapi/jsonrpc', 'mapserv.eventdata', {
    ...{ type: 'Feature', geometry: null, properties: { table: 'wet', columns: ['k'] } },
  })
  t.match(body.result.features, [{ properties: { k: 9007199254740 } }])

  await call('create_trigger', { name: 'bad', on: { startup: true }, module: 'm', method: 'fail' })
  await call('create_trigger', {
    ...{ name: 'night', on: { schedule: '0 3 * * *', time_zone: 'Asia/Tokyo' }, module: 'm', method: 'fail' },
  })
  const { run } = await call('run_trigger', { name: 'bad' })
  await until('the run has failed', async () => (await runs('bad'))[0]?.state === 'failed')
  t.match(await runs('bad'), [
    { run, exit_code: 3, error: 'MODULE_FAILED', last_lines: 'no rain', seconds: Number },
  ])
  t.match(await call('list_triggers'), {
    triggers: [
      ...[
        { name: 'bad', last_run: { state: 'failed' } },
        { name: 'night', next: /T03:00:00.*\+09:00$/ },
      ],
      { name: 'wet', params: { big: 9007199254740 }, output: { out: { data_ddc: 'wet' } } },
    ],
    waits_for_clock: false,
  })
  t.match(await call('update_trigger', { name: 'night', enabled: false, retries: 2 }), {
    next: null,
    retries: 2,
  })
  t.match(
    await call('update_trigger', { name: 'night', on: { startup: true }, overlap: 'skip', enabled: true }),
    {
      ...{ on: { startup: true }, overlap: 'skip', enabled: true },
    },
  )
  t.match(await call('delete_trigger', { name: 'wet' }), { name: 'wet', running: false })
  t.equal(
    (await runs()).every(({ trigger }: { trigger: string }) => trigger === 'bad'),
    true,
  )
})

t.test('triggers: what cannot be one is refused by name', async (t) => {
  const gateway = await startModules(t)
  makeModule(gateway.modulesDir, 'm', { make: 'sleep 30' })
  const fault = async (method: string, params: object, key = gateway.admin) => {
    const { body } = await gateway.call(DATAPROC, `dataproc.${method}`, params, {
      ...{ APIKey: key.apiKey, Secret: key.secret },
    })
    return body.error === undefined ? body.result : `${body.error.data.name}: ${body.error.message}`
  }
  const boot = { name: 'a', on: { startup: true }, module: 'm', method: 'make' }
  t.match(await fault('create_trigger', { ...boot, module: 'x' }), /^UNKNOWN_MODULE/)
  t.match(await fault('create_trigger', { ...boot, method: 'x' }), /^UNKNOWN_SCRIPT/)
  t.match(await fault('create_trigger', { ...boot, name: '../a' }), /^INVALID_PARAMS.*letters, digits/)
  t.match(await fault('create_trigger', { ...boot, on: { schedule: '0 0 30 2 *' } }), /never comes/)
  t.match(await fault('create_trigger', { ...boot, on: { schedule: '0 0 1 1 *', time_zone: 'X/Y' } }), /X\/Y/)
  t.match(await fault('create_trigger', { ...boot, on: {} }), /^INVALID_PARAMS/)
  t.match(
    await fault('create_trigger', { ...boot, output: { out: { data_ddc: 'nowhere' } } }),
    /^UNKNOWN_DATASET/,
  )
  await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'x',
    record_def: {},
    unique_columns: ['start_datetime'],
  })
  const round = { ...boot, on: { table: 'x' }, output: { out: { data_ddc: 'x' } } }
  t.match(await fault('create_trigger', round), /start each other without end \(a → a\)/)
  t.match(await fault('create_trigger', boot), { name: 'a' })
  t.match(await fault('create_trigger', boot), /^TRIGGER_EXISTS/)
  t.match(await fault('update_trigger', { name: 'a', on: { schedule: 'x' } }), /^INVALID_PARAMS/)
  for (const method of ['update_trigger', 'delete_trigger', 'run_trigger', 'list_trigger_runs'])
    t.match(await fault(method, { name: 'none' }), /^UNKNOWN_TRIGGER/)
  t.match(await fault('run_trigger', { name: 'a' }), { run: 1 })
  t.match(await fault('run_trigger', { name: 'a' }), /^BUSY/)
  t.match(await fault('delete_trigger', { name: 'a' }), { name: 'a' }, 'its run is ended')

  const narrow = await gateway.makeKey(['dataproc:write'])
  t.match(await fault('create_trigger', { ...boot, on: { table: 'x' } }, narrow), /^FORBIDDEN.*loader:read/)
  t.match(
    await fault('create_trigger', { ...boot, on: { model_store_ddc: 's' } }, narrow),
    /^FORBIDDEN.*model:read/,
  )
  t.match(
    await fault('create_trigger', { ...boot, output: { out: { data_ddc: 'x' } } }, narrow),
    /^FORBIDDEN/,
  )
})
