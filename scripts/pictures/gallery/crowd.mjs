// A gateway with 200 tables, long names, a table of 60 columns, and contents in Japanese.
import { callerOf } from './fill.mjs'

const TABLES = 200
const COLUMNS = 60
/** Longest name of a table or column. */
const LONG = `long_${'name_'.repeat(11)}`.slice(0, 54)
const SHELTERS = [
  ['中央小学校', '避難所として開設済み。体育館に 120 名が避難しています。', '開設'],
  ['東公民館', '浸水のため閉鎖。西公民館へ誘導してください。', '閉鎖'],
  ['国道 45 号 (松島海岸 IC～鳴瀬奥松島 IC)', '土砂崩れにより全面通行止め。迂回路は県道 27 号。', '通行止め'],
  ['ﾊﾝｶｸ と全角ＡＢＣ、絵文字🚧、旧字體', '', '確認中'],
]

/** @param centre lng, lat of the place that the records are around */
export async function fillCrowd(gateway, [lng, lat]) {
  const call = await callerOf(gateway)
  const register = (data_name, record_def) =>
    call('loaderwebapi.register_loader', {
      data_name,
      record_def: { id: { udt_name: 'int4' }, ...record_def },
      unique_columns: ['id'],
    })
  const put = (data_name, rows) =>
    call('loaderwebapi.add_record', {
      data_name,
      record_set: rows.map((values, id) => ({
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [lng + (id % 10) / 500, lat + Math.floor(id / 10) / 500] },
        properties: { start_datetime: new Date(Date.now() - id * 3_600_000).toISOString(), id, ...values },
      })),
    })
  for (let n = 0; n < TABLES - 3; n++) {
    const isTheme = n % 20 === 0
    await register(`${isTheme ? 'risk' : 'gauge'}_${String(n).padStart(3, '0')}`, {
      ...(isTheme ? { risk: { udt_name: 'int4' } } : { mm: { udt_name: 'float8', is_nullable: true } }),
    })
  }
  const text = { udt_name: 'text', is_nullable: true }
  await register(LONG, { [LONG]: text, note: text })
  await put(
    LONG,
    Array.from({ length: 12 }, (_, n) => ({
      [LONG]: 'a long value '.repeat(n + 1),
      note: 'x'.repeat(n * 20),
    })),
  )
  const names = Array.from({ length: COLUMNS - 1 }, (_, n) => `channel_${String(n + 1).padStart(2, '0')}`)
  const number = { udt_name: 'float8', is_nullable: true }
  await register('sixty_columns', Object.fromEntries(names.map((name) => [name, number])))
  await put(
    'sixty_columns',
    Array.from({ length: 60 }, (_, n) =>
      Object.fromEntries(names.map((name, at) => [name, at % 7 === 3 ? null : n * 1.5 + at / 8])),
    ),
  )
  await register('hinanjo', { name: text, memo: text, jotai: text })
  await put(
    'hinanjo',
    Array.from({ length: 24 }, (_, n) => {
      const [name, memo, jotai] = SHELTERS[n % SHELTERS.length]
      return { name: `${name} ${n + 1}`, memo, jotai }
    }),
  )
}

/** @returns views of a crowded gateway */
export function crowdViews([lng, lat]) {
  const wait = (ms) => (page) => page.waitForTimeout(ms)
  const tab = (n) => async (page) => {
    await page.getByRole('tab').nth(n).click()
    await page.waitForTimeout(500)
  }
  const edit = async (page) => {
    await page.waitForTimeout(1000)
    await page.locator('main td .button').first().click()
    await page.waitForTimeout(500)
  }
  const view = `view=${lng + 0.009},${lat},14`
  const popup = async (page) => {
    await page.waitForTimeout(4000)
    const box = await page.locator('.map-box canvas').first().boundingBox()
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
    await page.waitForTimeout(800)
  }
  return [
    ['many-home', '#/home', wait(1500)],
    ['many-map', `#/map?${view}`, wait(3000)],
    ['many-map-japanese', `#/map?events=hinanjo&colour=jotai&${view}`, wait(4000)],
    ['many-map-popup', `#/map?events=hinanjo&view=${lng},${lat},17`, popup],
    ['many-map-long', `#/map?events=${LONG}&colour=${LONG}&${view}`, wait(4000)],
    ['many-tables', '#/tables', wait(800)],
    ['many-sixty', '#/tables/sixty_columns', wait(1500)],
    ['many-sixty-columns', '#/tables/sixty_columns', tab(1)],
    ['many-sixty-add', '#/tables/sixty_columns', tab(2)],
    ['many-sixty-edit', '#/tables/sixty_columns', edit],
    ['many-long', `#/tables/${LONG}`, wait(1500)],
    ['many-long-edit', `#/tables/${LONG}`, edit],
    ['many-japanese', '#/tables/hinanjo', wait(1500)],
    [
      'many-japanese-filter',
      '#/tables/hinanjo?where=[["jotai","=","開設"],["name","contains","小学校"]]',
      wait(1500),
    ],
    ['many-help', '#/help', wait(1000)],
  ]
}
