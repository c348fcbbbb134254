// Dragging a pin on the map of Porto: answers a second, and what takes the time between them.
import { setTimeout as sleep } from 'node:timers/promises'
import { browserPid, newPage, signIn } from './browser.mjs'
import { processorMs } from './processor.mjs'

const POINTS = [
  [-8.645, 41.15],
  [-8.6, 41.165],
]
/** Sensitivities of the risk levels 0 to 10. */
const CURVE = [0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128]
const VIEW = '-8.615,41.16,13'
const SECONDS = 8
/** Moves of the pointer, as often as a usual mouse reports them to a page. */
const STEP_MS = 16
const TARGET = 20

/** @returns one row for each kind of drag */
export async function measureDrags(browser, world) {
  const rows = []
  for (const [title, query] of [
    ['one route', ''],
    ['around a risk, and the fastest', `&theme=flood:${CURVE}`],
  ])
    rows.push({ title, target: TARGET, ...(await measureDrag(browser, world, query)) })
  return rows
}

async function measureDrag(browser, world, query) {
  const { page, protocol, close } = await newPage(browser)
  try {
    await openQuestion(page, world, query)
    const answers = []
    page.on('requestfinished', (request) => {
      if (request.postData()?.includes('routing.dijkstra')) answers.push(request)
    })
    const from = await pinOf(page)
    const pid = await browserPid(browser)
    await countRenders(page)
    await page.mouse.move(from.x, from.y)
    await page.mouse.down()
    await page.mouse.move(from.x + 8, from.y + 8)
    await page.waitForTimeout(500)
    answers.length = 0
    const before = processorMs(pid, world.pid)
    const framesBefore = await framesOf(page)
    const moves = []
    const startedAt = performance.now()
    for (let i = 0; performance.now() - startedAt < SECONDS * 1000; i++) {
      const angle = i / 40
      // not awaited: a mouse does not wait for the page either
      const at = { x: from.x + 90 * Math.sin(angle), y: from.y + 60 * Math.cos(angle) }
      moves.push(
        protocol.send('Input.dispatchMouseEvent', { type: 'mouseMoved', button: 'left', buttons: 1, ...at }),
      )
      await sleep(Math.max(0, STEP_MS * (i + 1) - (performance.now() - startedAt)))
    }
    const seconds = (performance.now() - startedAt) / 1000
    const count = answers.length
    const after = processorMs(pid, world.pid)
    const frames = (await framesOf(page)) - framesBefore
    await Promise.all(moves)
    await page.mouse.up()
    const sizes = await Promise.all(answers.slice(0, 20).map((request) => request.sizes()))
    return {
      perS: count / seconds,
      framesPerS: frames / seconds,
      cpuMs: Object.fromEntries(
        Object.keys(after).map((part) => [part, (after[part] - before[part]) / count]),
      ),
      kB: sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0) / sizes.length / 1000,
    }
  } finally {
    await close()
  }
}

async function openQuestion(page, world, query) {
  const points = POINTS.map((point) => point.join(',')).join(';')
  await page.goto(`${world.url}/console/#/map?map=porto&points=${points}&view=${VIEW}${query}`)
  await signIn(page, world)
  await page.locator('.totals').first().waitFor()
  await page.waitForTimeout(4000) // the map moves to the route and draws its tiles
}

/** Middle of the pin of the destination. */
async function pinOf(page) {
  const box = await page.locator('.pin-box').last().boundingBox()
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

/** Counts the frames of the screen that the page gets. */
async function countRenders(page) {
  await page.evaluate(() => {
    globalThis.benchFrames = 0
    const count = () => {
      globalThis.benchFrames++
      requestAnimationFrame(count)
    }
    requestAnimationFrame(count)
  })
}

async function framesOf(page) {
  return await page.evaluate(() => globalThis.benchFrames)
}
