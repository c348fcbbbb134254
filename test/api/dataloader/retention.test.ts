import t from 'tap'
import { openTestLoader } from '../../support/loader.js'

const COLUMNS = {
  sensor: { udt_name: 'text', is_nullable: false },
  value: { udt_name: 'float8', is_nullable: true },
  secret: { udt_name: 'text', is_nullable: true, need_crypto: true },
}
const SUMMARY = { after_days: 1, interval_s: 600, by: ['sensor'], into: 'rain_10min' }

async function withTable(t: Parameters<typeof openTestLoader>[0]) {
  const opened = openTestLoader(t)
  await opened.call('loaderwebapi.register_loader', {
    ...{ data_name: 'rain', record_def: COLUMNS, unique_columns: ['sensor', 'start_datetime'] },
  })
  const set = (params: object) => opened.call('loaderwebapi.set_retention', { data_name: 'rain', ...params })
  const fault = (params: object) =>
    set(params).then(
      (found) => JSON.stringify(found),
      (error) => JSON.stringify(error.data),
    )
  return { ...opened, set, fault }
}

t.test('retention: members of a rule are set, stay, and go one by one', async (t) => {
  const { call, set } = await withTable(t)
  t.same(await call('loaderwebapi.list_retention', {}), [])
  const first = await set({ age_days: 30, max_rows: 1000 })
  t.match(first, { age_days: 30, max_rows: 1000, max_bytes: null, thin: null, drop_unsent: false, rows: 0 })
  t.match(await set({ max_rows: null, drop_unsent: true }), {
    age_days: 30,
    max_rows: null,
    drop_unsent: true,
  })
  t.match(await set({ thin: SUMMARY }), { age_days: 30, thin: SUMMARY })
  t.match(await call('loaderwebapi.list_retention', {}), [{ data_name: 'rain', age_days: 30, thin: SUMMARY }])
  const gone = await set({ age_days: null, thin: null })
  t.match(gone, { age_days: null, thin: null, rows: null, bytes: null })
  t.same(await call('loaderwebapi.list_retention', {}), [])
})

t.test('retention: the table of a summary is made, and one that exists must fit', async (t) => {
  const { call, set, fault } = await withTable(t)
  await set({ thin: SUMMARY })
  const { data } = await call('loaderwebapi.get_loader_list', {})
  const made = data.find((one: { data_name: string }) => one.data_name === 'rain_10min')
  t.same(made.unique_columns, ['sensor', 'start_datetime'])
  t.same(Object.keys(made.record_def).slice(3), [
    ...['sensor', 'row_count', 'value_count', 'value_min', 'value_mean', 'value_max'],
  ])
  t.match(await set({ thin: { ...SUMMARY, interval_s: 1200 } }), { thin: { interval_s: 1200 } }, 'it fits')
  t.match(await fault({ thin: { ...SUMMARY, by: [] } }), /rain_10min with sensor, which may not be null/)
  await call('loaderwebapi.register_loader', {
    ...{ data_name: 'keyed', unique_columns: ['row_count'] },
    record_def: { row_count: { udt_name: 'int8', is_nullable: true }, ...sums() },
  })
  t.match(
    await fault({ thin: { ...SUMMARY, by: [], into: 'keyed' } }),
    /the key row_count, expected start_datetime/,
  )
  const columns = (more: object) => ({
    ...{ sensor: COLUMNS.sensor, row_count: { udt_name: 'int8', is_nullable: true } },
    ...more,
  })
  const register = (data_name: string, record_def: object) =>
    call('loaderwebapi.register_loader', {
      data_name,
      record_def,
      unique_columns: ['sensor', 'start_datetime'],
    })
  await register('poor', columns({}))
  t.match(await fault({ thin: { ...SUMMARY, into: 'poor' } }), /without value_count \(int8\)/)
  await register('strict', columns({ ...sums(), more: { udt_name: 'text', is_nullable: false } }))
  t.match(await fault({ thin: { ...SUMMARY, into: 'strict' } }), /with more, which may not be null/)
})

/** Columns of a summary of `value`. */
const sums = () =>
  Object.fromEntries(
    ['count', 'min', 'mean', 'max'].map((name) => [
      `value_${name}`,
      { udt_name: name === 'count' ? 'int8' : 'float8', is_nullable: true },
    ]),
  )

t.test('retention: a summary of summaries may not come back to its table', async (t) => {
  const { call, set } = await withTable(t)
  await set({ thin: SUMMARY })
  const hourly = { after_days: 30, interval_s: 3600, by: ['sensor'], into: 'rain_hour' }
  await call('loaderwebapi.set_retention', { data_name: 'rain_10min', thin: hourly })
  const back = await call('loaderwebapi.set_retention', {
    ...{ data_name: 'rain_hour', thin: { ...hourly, into: 'rain' } },
  }).then(
    () => 'taken',
    (error) => JSON.stringify(error.data),
  )
  t.match(back, /without|circle/)
})

t.test('retention: what a rule may not name', async (t) => {
  const { fault } = await withTable(t)
  t.match(await fault({ thin: { ...SUMMARY, by: ['secret'] } }), /expected a plain value/)
  t.match(await fault({ thin: { ...SUMMARY, by: ['sensor', 'sensor'] } }), /found sensor twice/)
  t.match(await fault({ age_days: 1, thin: SUMMARY }), /rows are gone by then/)
})
