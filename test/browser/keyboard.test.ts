import type { FileChooser } from 'playwright-core'
import t from 'tap'
import { type ConsolePage, missingChromium, openConsole, startBrowser } from '../support/browser.js'
import { addFlood, townGateway } from '../support/console-gateway.js'
import { until } from '../support/models.js'

const skip = missingChromium
/** More presses of Tab than any page needs. */
const MOST_TABS = 250

/** What has the focus: its role or tag, its name, and whether that can be seen. */
const FOCUSED = `(() => {
  const element = document.activeElement
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element)
  const label = element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent
  const { width, height } = element.getBoundingClientRect()
  const isSeen = (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none' || width * height === 0
  return { name: (label ?? '').trim(), tag: element.localName, isSeen }
})()`

interface Focused {
  name: string
  tag: string
  isSeen: boolean
}

/** Presses Tab until an element with a name has the focus. @returns names of those whose focus cannot be seen */
async function tabTo({ page }: ConsolePage, name: string | RegExp): Promise<string[]> {
  const unseen: string[] = []
  const passed: string[] = []
  for (let tabs = 0; tabs < MOST_TABS; tabs++) {
    await page.keyboard.press('Tab')
    const focused = (await page.evaluate(FOCUSED)) as Focused
    if (!focused.isSeen && focused.tag !== 'body') unseen.push(`${focused.tag} ${focused.name}`)
    passed.push(focused.name.slice(0, 40))
    if (typeof name === 'string' ? focused.name === name : name.test(focused.name)) return unseen
  }
  throw new Error(`${name} is not reached by Tab, but ${passed.join(' | ')}`)
}

t.test('console: the tasks of a first day by the keyboard alone', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await addFlood(gateway)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, complaints } = view
  const { keyboard } = page
  const unseen: string[] = []
  const to = async (name: string | RegExp) => void unseen.push(...(await tabTo(view, name)))
  const enter = async (name: string | RegExp) => {
    await to(name)
    await keyboard.press('Enter')
  }
  await page.locator('input[name=key]:focus').waitFor()
  await keyboard.type(gateway.admin.apiKey)
  await to('Secret')
  await keyboard.type(gateway.admin.secret)
  await keyboard.press('Enter')
  await page.getByRole('navigation').waitFor()

  // a route, and its start a little further east
  await enter('Map and routes')
  await page.getByRole('heading', { name: 'Route', exact: true }).waitFor()
  await to(/^Add a point/)
  for (const point of ['10.000, 50.006', '10.012, 50.006']) {
    await keyboard.type(point)
    await keyboard.press('Enter')
  }
  await page.locator('.roads').waitFor()
  await to(/^Start\. The arrow keys move it/)
  await keyboard.press('ArrowRight')
  await until('the start moved', () => /points=/.test(page.url()) && !/points=10,50\.006;/.test(page.url()))

  // an area of risk: corners by numbers, and one in the middle of the map, which is taken back
  await enter('Draw an area of risk')
  await to(/^Add a corner/)
  for (const corner of ['10.004, 50.0045', '10.008, 50.0045', '10.008, 50.0075', '10.004, 50.0075']) {
    await keyboard.type(corner)
    await keyboard.press('Enter')
  }
  await to(/^Map\. Use the arrow keys/)
  await keyboard.press('Enter')
  await page.getByText('Corners: 5').waitFor()
  await keyboard.press('Backspace')
  await page.getByText('Corners: 4').waitFor()
  await to('Level')
  await keyboard.type('10')
  await keyboard.press('Enter')
  await page.getByText('The area is stored in the table drawn').waitFor()
  await page.getByText(/highest risk 10 → 0/).waitFor()
  await page.locator('.map-status button:focus').waitFor()
  await keyboard.press('Enter')
  await page.locator('.map-status .notice').waitFor({ state: 'detached' })

  // a file, its rows, and one of them in the editor, which Escape closes
  await enter('Import a file')
  await page.getByRole('heading', { name: 'Import a file' }).waitFor()
  let chooser: FileChooser | undefined
  page.once('filechooser', (opened) => {
    chooser = opened
  })
  await until('the files are shown', async () => {
    // the page may take the focus once more when it is shown
    await to('File')
    await keyboard.press('Enter')
    await page.waitForTimeout(500)
    return chooser !== undefined
  })
  await chooser?.setFiles({
    ...{ name: 'rain.csv', mimeType: 'text/csv' },
    buffer: Buffer.from('gauge,mm,lng,lat\na,1,10.001,50.001\nb,2,10.002,50.002\n'),
  })
  await page.getByText('Every record has its own key (gauge).').waitFor()
  await enter('Create table and import')
  await page.getByText('2 records read: 2 inserted').waitFor()
  await page.getByRole('button', { name: 'Edit' }).first().waitFor()
  await to(/a110\.001/)
  await keyboard.press('Enter')
  await page.locator('tr[aria-current=true]').waitFor()
  await enter('Edit')
  await page.getByRole('dialog').waitFor()
  await keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.equal(((await page.evaluate(FOCUSED)) as Focused).name, 'Edit', 'the focus is where it was')
  t.same([...new Set(unseen)], [], 'the focus is seen wherever it goes')
  t.same(complaints, [])
})
