// Pictures of every page of the console, of its states and of what users do there, and what is wrong with their layout.
// npm run picture -- FOLDER [--map FILE.graph --centre=LNG,LAT [--ends=LNG,LAT;LNG,LAT]] [--only PART] [--variant 360-ja-dark] [--sheets]
// npm run picture -- FOLDER --finding 1-12,18 [--variant …]: scenes by finding, with sheets (findings.mjs)
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { startGateway } from '../../bench/gateway.mjs'
import { CHROMIUM, startBrowser } from '../console.mjs'
import { crowdViews, fillCrowd } from './crowd.mjs'
import { callerOf, fillGateways, NEIGHBOURS } from './fill.mjs'
import { FINDINGS, folderOf, foldersOf, numbersOf } from './findings.mjs'
import { mapScenes } from './map-scenes.mjs'
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
      ...Object.fromEntries(
        ['map', 'centre', 'ends', 'only', 'variant', 'finding'].map((name) => [name, { type: 'string' }]),
      ),
      sheets: { type: 'boolean' },
    },
  })
  const [folder] = positionals
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is not installed`)
  mkdirSync(folder, { recursive: true })
  const place =
    values.map === undefined
      ? TOWN
      : {
          centre: values.centre.split(',').map(Number),
          mapName: path.basename(values.map, '.graph'),
          ends: values.ends,
        }
  const numbers = values.finding === undefined ? undefined : numbersOf(values.finding)
  /** folders of the pictures of a view, inside the given one; none when it is not wanted */
  const foldersOfView = (name) => {
    if (numbers !== undefined) return foldersOf(numbers, name)
    return values.only === undefined || new RegExp(values.only).test(name) ? ['.'] : []
  }
  const isWanted = ([name]) => foldersOfView(name).length > 0
  const filesOf = (name, variant) =>
    foldersOfView(name).map((inner) => path.join(folder, inner, `${name}-${nameOf(variant)}.png`))
  const wanted = VARIANTS.filter((each) => values.variant === undefined || nameOf(each).match(values.variant))
  for (const number of numbers ?? []) mkdirSync(path.join(folder, folderOf(number)), { recursive: true })
  const browser = await startBrowser()
  const names = isWanted(['sign-in']) ? ['sign-in'] : []
  try {
    for (const open of [filledGateways, crowdedGateway, emptyGateway]) {
      const { sets, close } = await open({ place, folder, map: values.map, isWanted })
      try {
        for (const variant of wanted)
          for (const { gateway, views } of sets)
            await photograph({ browser, gateway, views, variant, filesOf: (name) => filesOf(name, variant) })
      } finally {
        await close()
      }
      names.push(...sets.flatMap(({ views }) => views.map(([name]) => name)))
    }
    if (numbers !== undefined) await showFindings({ browser, folder, numbers })
    else if (values.sheets) await makeSheets({ browser, folder, names })
  } finally {
    await browser.close()
  }
}

/** Joins the pictures of each finding, and prints what it was and where else it is seen. */
async function showFindings({ browser, folder, numbers }) {
  for (const number of numbers) {
    const { about, scenes, commands = [] } = FINDINGS[number]
    const inner = path.join(folder, folderOf(number))
    await makeSheets({ browser, folder: inner, names: scenes })
    const pictures = readdirSync(inner)
    if (scenes[0].startsWith('base-') && !pictures.some((file) => file.startsWith('base-')))
      console.log(`${number}. needs --map and --centre of a map with a base map`)
    const where = commands.length === 0 ? '' : `; on the command line: ${commands.join(', ')}`
    console.log(`${number}. ${about}: ${inner}${where}`)
  }
}

/** Nothing to photograph. */
const NOTHING = { sets: [], close: async () => undefined }

/** A gateway with something of everything, and the hub that it sends to. */
async function filledGateways({ place, folder, map, isWanted }) {
  const facts = { question: questionOf(place), centre: place.centre, folder, hasBase: hasBase(map) }
  const views = [...viewsOf(facts), ...taskViews(facts), ...mapScenes(facts), ...stateViews(facts)].filter(
    isWanted,
  )
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

/** Base map beside a map. */
const baseOf = (file) => file.replace(/\.graph$/, '.mbtiles')

function hasBase(file) {
  return file !== undefined && existsSync(baseOf(file))
}

/** Data directory with a map and the base map beside it. */
function withMap(file) {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-pictures-'))
  if (file === undefined) return dataDir
  const maps = path.join(dataDir, 'maps')
  mkdirSync(maps)
  for (const each of [file, baseOf(file)])
    if (existsSync(each)) copyFileSync(each, path.join(maps, path.basename(each)))
  return dataDir
}

/** Question of a route across the risk around the centre. @param ends of it, where there is no road at the usual ones */
function questionOf({ centre: [lng, lat], mapName, ends }) {
  const usual = [
    [lng - 0.012, lat + 0.01],
    [lng + 0.01, lat - 0.011],
  ]
  const points = ends ?? usual.map((point) => point.map((degrees) => degrees.toFixed(5)).join(',')).join(';')
  return `map=${mapName}&points=${points}&theme=river:${AVOID}&at=${new Date().toISOString()}`
}
