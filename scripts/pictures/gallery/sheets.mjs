// Joins the pictures of a view into sheets, so that its variants are seen side by side.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { nameOf, VARIANTS } from './photograph.mjs'

/** Height of a sheet of narrow pages; longer pictures go on in further columns. */
const HEIGHT = 1480

/**
 * Writes sheets of each view: `sheet-NAME-1440-1.png` with two variants, `sheet-NAME-360.png` with all four.
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
    const narrow = pictures.filter(({ width }) => width <= 900)
    const pairs = [
      wide.filter(({ language, theme }) => (language === 'en') === (theme === 'light')),
      wide.filter(({ language, theme }) => (language === 'en') !== (theme === 'light')),
    ]
    for (const [at, pair] of pairs.entries())
      if (pair.length > 0)
        await join(page, pair, {
          width: 1100,
          each: 1100,
          file: path.join(folder, `sheet-${name}-1440-${at + 1}.png`),
        })
    if (narrow.length > 0)
      await join(page, narrow, { width: 1480, each: 360, file: path.join(folder, `sheet-${name}-360.png`) })
  }
  await page.close()
}

async function join(page, pictures, { width, each, file }) {
  await page.setViewportSize({ width, height: 900 })
  const images = pictures.map((picture) => {
    const source = `data:image/png;base64,${readFileSync(picture.file).toString('base64')}`
    return `<img src="${source}" style="width:${each}px;max-height:${HEIGHT}px;object-fit:cover;object-position:top">`
  })
  await page.setContent(
    `<body style="margin:0;display:flex;flex-wrap:wrap;gap:10px;align-items:start;background:#888">${images.join('')}`,
  )
  await page.evaluate(() => Promise.all([...document.images].map((image) => image.decode())))
  await page.screenshot({ path: file, fullPage: true })
}
