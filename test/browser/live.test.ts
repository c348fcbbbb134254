import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { townGateway } from '../support/console-gateway.js'
import { DATAPROC, installExample, LOADER } from '../support/dataproc.js'
import { until } from '../support/models.js'
import { startMosquitto, withoutMosquitto } from '../support/mosquitto.js'
import { pairHeaders } from '../support/start-gateway.js'

const skip = missingChromium || withoutMosquitto()
const START = '2026-01-01T10:00:00Z'

t.test(
  'console: rain comes by MQTT, a module makes risk of it, and a route moves without a click',
  { skip },
  async (t) => {
    const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-broker-'))
    t.teardown(() => rmSync(dir, { recursive: true }))
    const { port } = await startMosquitto({
      testdir: () => dir,
      teardown: t.teardown.bind(t),
    })
    const map = {
      ...{ filter: 'farm/+/rain', table: 'rain', columns: { mm: 'mm' }, topicColumns: { gauge: 2 } },
      ...{ time: { path: 't', durationS: 3600 }, position: { lon: 'lon', lat: 'lat' } },
    }
    const broker = { name: 'site', url: `mqtt://127.0.0.1:${port}`, maps: [map] }
    const gateway = await townGateway(t, { ingest: { mqtt: { brokers: [broker], retryCapS: 0.2 } } })
    installExample(path.join(gateway.dataDir, 'modules'), 'rain-risk')
    const call = async (api: string, method: string, params: object) => {
      const { body } = await gateway.call(api, method, params)
      if (body.error !== undefined) throw new Error(JSON.stringify(body.error))
    }
    const column = (udt_name: string) => ({ udt_name, is_nullable: true })
    await call(LOADER, 'loaderwebapi.register_loader', {
      ...{ data_name: 'rain', unique_columns: ['gauge', 'start_datetime'] },
      record_def: { gauge: { udt_name: 'text' }, mm: column('float8') },
    })
    await call(LOADER, 'loaderwebapi.register_loader', {
      ...{ data_name: 'wet', unique_columns: ['cell', 'start_datetime'] },
      record_def: { cell: { udt_name: 'text' }, mm: column('float8'), risk: column('int4') },
    })
    await call(DATAPROC, 'dataproc.create_trigger', {
      ...{ name: 'wet', on: { table: 'rain' }, module: 'rain-risk', method: 'make', wait_s: 0 },
      ...{
        input: { rain: { data_ddc: 'rain' } },
        output: { risk: { data_ddc: 'wet' } },
        params: { step: 0.004 },
      },
    })
    const rain = (gauge: string, mm: number, [lon, lat]: [number, number]) =>
      execFileSync('mosquitto_pub', [
        ...['-p', String(port), '-q', '1', '-t', `farm/${gauge}/rain`],
        ...['-m', JSON.stringify({ mm, t: START, lon, lat })],
      ])
    const subscribed = async () =>
      /fieldgate_ingest_subscriptions\{broker="site"\} 1/.test(
        await (await fetch(`${gateway.url}/metrics`, { headers: pairHeaders(gateway.admin) })).text(),
      )
    await until('the gateway has subscribed', subscribed)
    rain('far', 90, [10.1, 50.1])

    const view = await openConsole(await startBrowser(t), gateway.url)
    const { page, complaints, goTo } = view
    await signIn(view, gateway.admin)
    await goTo('#/map')
    await page.getByRole('checkbox', { name: 'wet' }).first().check()
    for (const point of ['10.000, 50.006', '10.012, 50.006']) {
      await page.getByLabel('Add a point').fill(point)
      await page.getByRole('button', { name: 'Add', exact: true }).click()
    }
    const distance = page.locator('.totals div', { hasText: 'Distance' }).locator('b')
    const straight = await distance.textContent()
    rain('near', 90, [10.006, 50.006])
    await until('the route is another', async () => (await distance.textContent()) !== straight)

    await goTo('#/tables/rain')
    const rows = page.getByRole('region', { name: 'Rows' }).locator('tbody tr')
    await until('both gauges are shown', async () => (await rows.count()) === 2)
    rain('third', 1, [10.002, 50.002])
    await until('the third one comes by itself', async () => (await rows.count()) === 3)
    t.same(complaints, [])
  },
)
