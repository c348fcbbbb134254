// Joins the pictures of a view into sheets, so that its variants are seen side by side.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { nameOf, VARIANTS } from './photograph.mjs'

/** Most columns of narrow pages on one sheet, and their height, px: text stays readable. */
const COLUMNS = 4
const HEIGHT = 1400
const GAP = 10

/**
 * Writes sheets of each view: `sheet-NAME-1440-1.png` with two variants, `sheet-NAME-360-1.png` with four columns; a
 * narrow picture that is longer goes on in the next columns and sheets.
 *
 * @param names of views
 */
export async function makeSheets({ browser, folder, names }) {
  const page = await browser.newPage()
  for (const name of names) {
    const pictures = VARIANTS.map((variant) => ({
      ...variant,
      file: path.join(folder, `${name}-${nameOf(variant)}.png`),
    })).filter(({ file }) => existsSync(file))
    const wide = pictures.filter(({ width }) => width > 900)
    const narrow = pictures.filter(({ width }) => width <= 900).flatMap(columnsOf)
    const sheets = [
      wide.filter(({ language, theme }) => (language === 'en') === (theme === 'light')),
      wide.filter(({ language, theme }) => (language === 'en') !== (theme === 'light')),
    ].filter((pair) => pair.length > 0)
    for (const [at, pair] of sheets.entries())
      await join(page, pair.map(wholeOf), path.join(folder, `sheet-${name}-1440-${at + 1}.png`), 1100)
    for (let at = 0; at < narrow.length; at += COLUMNS) {
      const file = path.join(folder, `sheet-${name}-360-${at / COLUMNS + 1}.png`)
      await join(page, narrow.slice(at, at + COLUMNS), file, COLUMNS * (360 + GAP))
    }
  }
  await page.close()
}

/** Parts of a long picture, from its top to its bottom. */
function columnsOf({ file }) {
  const { bytes, width, height } = readPicture(file)
  return Array.from({ length: Math.ceil(height / HEIGHT) }, (_, at) => ({
    ...{ bytes, width, top: at * HEIGHT },
    height: Math.min(HEIGHT, height - at * HEIGHT),
  }))
}

function wholeOf({ file }) {
  return { ...readPicture(file), top: 0 }
}

/** Width and height stand in the first chunk of a PNG. */
function readPicture(file) {
  const bytes = readFileSync(file)
  return { bytes, width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/** Writes a sheet. @param width of the sheet, px: wider pictures are made smaller */
async function join(page, parts, file, width) {
  await page.setViewportSize({ width, height: 900 })
  const boxes = parts.map((part) => {
    const scale = Math.min(1, width / part.width)
    const source = `data:image/png;base64,${part.bytes.toString('base64')}`
    const frame = `width:${part.width * scale}px;height:${part.height * scale}px;overflow:hidden`
    const image = `display:block;width:${part.width * scale}px;margin-top:${-part.top * scale}px`
    return `<div style="${frame}"><img src="${source}" style="${image}"></div>`
  })
  await page.setContent(
    `<body style="margin:0;display:flex;flex-wrap:wrap;gap:${GAP}px;align-items:start;background:#888">${boxes.join('')}`,
  )
  await page.evaluate(() => Promise.all([...document.images].map((image) => image.decode())))
  await page.screenshot({ path: file, fullPage: true })
}
