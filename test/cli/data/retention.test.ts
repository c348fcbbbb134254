import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { cli } from '../../support/run-cli.js'

t.test('retention: rules are set, listed and taken away', async (t) => {
  const dir = t.testdir()
  const run = (...argv: string[]) => cli(dir, [...argv, '--data-dir', 'data'])
  await run('init')
  writeFileSync(
    path.join(dir, 'rain.csv'),
    'sensor,mm,start_datetime,lng,lat\na,1.5,2026-01-01T00:00:00Z,139,35\nb,2,2026-01-01T00:10:00Z,139,35\n',
  )
  await run('data', 'import', 'rain.csv', '--table', 'rain', '--unique', 'sensor,start_datetime')
  t.match(await run('retention', 'list'), { stdout: 'No table has a rule.\n' })
  const set = await run('retention', 'set', 'rain', '--age', '30d', '--max-bytes', '50M', '--drop-unsent')
  t.match(
    set.stdout,
    /^rain: 2 rows since 2026-01-01T0\S+, \S+ \S+; rows go older than 30 days, beyond 50 MB, also before feeds have sent them; gone: 0\n$/,
  )
  const thin = ['--thin-after', '7d', '--thin-every', '10m', '--thin-by', 'sensor']
  const into = await run(
    'retention',
    'set',
    'rain',
    ...thin,
    '--into',
    'rain_10min',
    '--keep-unsent',
    '--max-rows',
    '1000',
  )
  t.match(
    into.stdout,
    /beyond 1,000 rows, beyond 50 MB, after 7 days into rain_10min of each sensor, one for each 600 s; gone/,
  )
  const json = JSON.parse((await run('retention', 'list', '--json')).stdout)
  t.match(json, [{ data_name: 'rain', age_days: 30, max_rows: 1000, drop_unsent: false, rows: 2 }])
  t.match(JSON.parse((await run('retention', 'set', 'rain', ...thin, '--keep', 'last', '--json')).stdout), {
    thin: { afterDays: 7, intervalS: 600, by: ['sensor'], to: { keep: 'last' } },
  })
  t.match((await run('retention', 'list')).stdout, /after 7 days but the last of each sensor in 600 s/)
  t.match(await run('retention', 'clear', 'rain'), { stdout: 'Every row of rain stays.\n' })
  t.match(await run('retention', 'set', 'rain', '--keep-unsent'), { stdout: 'Every row of rain stays.\n' })
  t.match(JSON.parse((await run('retention', 'clear', 'rain', '--json')).stdout), { data_name: 'rain' })
})

t.test('retention: what is wrong is told in a line, with exit code 2 for the usage', async (t) => {
  const dir = t.testdir()
  const run = (...argv: string[]) => cli(dir, [...argv, '--data-dir', 'data'])
  await run('init')
  writeFileSync(path.join(dir, 'rain.csv'), 'sensor,mm\na,1\n')
  await run('data', 'import', 'rain.csv', '--table', 'rain', '--unique', 'sensor')
  const set = async (...flags: string[]) => {
    const { code, stderr } = await run('retention', 'set', 'rain', ...flags)
    return `${code} ${stderr}`
  }
  t.match(await set(), /^2 .*found no option, expected one/)
  t.match(await set('--age', 'old'), /^2 .*duration/)
  t.match(await set('--max-rows', '0'), /^2 .*whole number/)
  t.match(await set('--max-bytes', '5x'), /^2 .*size such as/)
  t.match(await set('--thin-after', '1d'), /^2 .*expected --thin-after, --thin-every/)
  t.match(await set('--thin-after', '1d', '--thin-every', '1h', '--keep', 'middle'), /^2 .*first or last/)
  t.match(
    await set('--thin-after', '1d', '--thin-every', '1h', '--keep', 'last', '--thin-by', 'x'),
    /^2 .*expected a column/,
  )
  const unknown = await run('retention', 'set', 'nobody', '--age', '1d')
  t.match([unknown.code, unknown.stderr], [1, /no table has the name nobody/])
})
