// Pictures of every page of the console, of its states and of what users do there, and what is wrong with their layout.
// npm run picture -- FOLDER [--map FILE.graph --centre=LNG,LAT] [--only PART] [--variant 360-ja-dark] [--sheets]
import { copyFileSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { startGateway } from '../../bench/gateway.mjs'
import { CHROMIUM, startBrowser } from '../console.mjs'
import { crowdViews, fillCrowd } from './crowd.mjs'
import { callerOf, fillGateways, NEIGHBOURS } from './fill.mjs'
import { nameOf, photograph, VARIANTS } from './photograph.mjs'
import { makeSheets } from './sheets.mjs'
import { emptyViews, stateViews } from './states.mjs'
import { taskViews } from './tasks.mjs'
import { hubViews, viewsOf } from './views.mjs'

/** Town of the demonstration. */
const TOWN = { centre: [141.9995, 35.0], mapName: 'demo-town' }
const AVOID = '0,1,2,4,8,16,32,64,128,512,9999'

/** Makes the pictures. @param words of the command line */
export async function makeGallery(words) {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      ...Object.fromEntries(['map', 'centre', 'only', 'variant'].map((name) => [name, { type: 'string' }])),
      sheets: { type: 'boolean' },
    },
  })
  const [folder] = positionals
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is not installed`)
  mkdirSync(folder, { recursive: true })
  const place =
    values.map === undefined
      ? TOWN
      : { centre: values.centre.split(',').map(Number), mapName: path.basename(values.map, '.graph') }
  const isWanted = ([name]) => values.only === undefined || new RegExp(values.only).test(name)
  const wanted = VARIANTS.filter((each) => values.variant === undefined || nameOf(each).match(values.variant))
  const browser = await startBrowser()
  const names = []
  try {
    for (const open of [filledGateways, crowdedGateway, emptyGateway]) {
      const { sets, close } = await open({ place, folder, map: values.map, isWanted })
      try {
        for (const variant of wanted)
          for (const { gateway, views } of sets)
            await photograph({ browser, gateway, views, variant, folder })
      } finally {
        await close()
      }
      names.push(...sets.flatMap(({ views }) => views.map(([name]) => name)))
    }
    if (values.sheets) await makeSheets({ browser, folder, names: ['sign-in', ...names] })
  } finally {
    await browser.close()
  }
}

/** Nothing to photograph. */
const NOTHING = { sets: [], close: async () => undefined }

/** A gateway with something of everything, and the hub that it sends to. */
async function filledGateways({ place, folder, map, isWanted }) {
  const facts = { question: questionOf(place), centre: place.centre, folder }
  const views = [...viewsOf(facts), ...taskViews(facts), ...stateViews()].filter(isWanted)
  if (views.length + hubViews('').filter(isWanted).length === 0) return NOTHING
  const edge = await startGateway({ args: ['--demo'], env: NEIGHBOURS, dataDir: withMap(map) })
  const hub = await startGateway({ env: NEIGHBOURS })
  await fillGateways(edge, hub, place.centre)
  const [member] = await (await callerOf(hub))('fleet.list_gateways')
  const sets = [
    { gateway: edge, views },
    { gateway: hub, views: hubViews(member?.node ?? '').filter(isWanted) },
  ]
  return {
    sets: sets.filter((each) => each.views.length > 0),
    close: () => Promise.all([edge.stop(), hub.stop()]),
  }
}

/** A gateway with many tables, long names and Japanese contents. */
async function crowdedGateway({ place, map, isWanted }) {
  const views = crowdViews(place.centre).filter(isWanted)
  if (views.length === 0) return NOTHING
  const gateway = await startGateway({ args: ['--demo'], dataDir: withMap(map) })
  await fillCrowd(gateway, place.centre)
  return { sets: [{ gateway, views }], close: () => gateway.stop() }
}

/** A gateway with nothing at all. */
async function emptyGateway({ isWanted }) {
  const views = emptyViews().filter(isWanted)
  if (views.length === 0) return NOTHING
  const gateway = await startGateway()
  return { sets: [{ gateway, views }], close: () => gateway.stop() }
}

/** Data directory with a map and the base map beside it. */
function withMap(file) {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-pictures-'))
  if (file === undefined) return dataDir
  const maps = path.join(dataDir, 'maps')
  mkdirSync(maps)
  for (const each of [file, file.replace(/\.graph$/, '.mbtiles')])
    if (existsSync(each)) copyFileSync(each, path.join(maps, path.basename(each)))
  return dataDir
}

function questionOf({ centre: [lng, lat], mapName }) {
  const ends = [
    [lng - 0.012, lat + 0.01],
    [lng + 0.01, lat - 0.011],
  ]
  const points = ends.map((point) => point.map((degrees) => degrees.toFixed(5)).join(',')).join(';')
  return `map=${mapName}&points=${points}&theme=river:${AVOID}&at=${new Date().toISOString()}`
}
