// Faults that first-time users of the console and the command line met, and the scenes that show how each place is now.
// `npm run picture -- FOLDER --finding 6` photographs those of one; numbers, ranges and `all` can be named: 1-12,18.

/** number → `about`: what was wrong; `scenes`: names of views; `commands`: where the command line shows it */
export const FINDINGS = {
  1: {
    about: 'An import gave records without an end the time of the import as their end',
    scenes: ['task-import-done'],
    commands: ['data import'],
  },
  2: {
    about: 'Sign-in waited for the map library, and the map page was blank until it had come',
    scenes: ['sign-in', 'task-map-late'],
  },
  3: {
    about: 'The example of routing.dijkstra in the API explorer failed, in the colour of success',
    scenes: ['task-api-route', 'task-api-sent', 'task-api-refused'],
  },
  4: {
    about: 'An import asked for columns and key first, without a drop target, a preview or types',
    scenes: ['task-drop', 'import', 'import-preview'],
  },
  5: {
    about: 'A key that several records share lost rows quietly',
    scenes: ['task-import-shared', 'task-import-refused', 'task-import-exists'],
    commands: ['data import'],
  },
  6: {
    about: 'A route around risk was not compared with the fastest; alternatives had no figures',
    scenes: ['map-route', 'map-choices', 'map-fastest'],
  },
  7: {
    about: 'The table of roads was wider than its frame, and neighbouring rows repeated one name',
    scenes: ['task-map-roads'],
  },
  8: {
    about: 'The base map had no water, few names, and white streets on near-white',
    scenes: ['base-wide', 'base-town', 'base-near', 'base-route'],
  },
  9: {
    about: 'The time line covered one day of two months, without ends and play; records ignored the time',
    scenes: ['task-map-time', 'task-map-range'],
  },
  10: {
    about: 'Nothing happened during a drag, and the line could not be dragged',
    scenes: ['task-drag-pin', 'task-drag-line'],
  },
  11: {
    about: 'Areas of travel time had one colour and no minutes',
    scenes: ['map-isochrones', 'task-map-minutes'],
  },
  12: {
    about: 'Records on the map were one blob: no clusters, colours, filter; popups had internal names',
    scenes: ['map-events', 'map-popup', 'task-map-filter', 'many-map-japanese', 'many-map-popup'],
  },
  13: {
    about: 'Many tables made an endless panel; no search of places, no link to a view',
    scenes: ['many-map', 'base-place', 'task-map-link'],
  },
  14: {
    about: 'Rows had no total, sorting, filter, editing or export',
    scenes: ['table-rows', 'task-filtered', 'table-edit', 'table-remove'],
  },
  15: { about: 'The page of a dataset showed no rows', scenes: ['dataset'] },
  16: {
    about: 'A model from before its upstream could not be sent; lineage without links, outbox without times',
    scenes: ['task-model-send', 'model-store', 'model', 'outbox', 'home'],
  },
  17: {
    about: 'Charts of health had no axes and no history, and a stopped gateway still said “now”',
    scenes: ['health', 'task-health-day', 'stopped-health'],
  },
  18: {
    about: 'The map page could not be tried again, and a reload signed out without a warning',
    scenes: ['loading-map', 'error-map', 'stopped-map', 'session-kept', 'session-ended', 'sign-in-stopped'],
  },
  19: {
    about: 'Controls of three heights in one form, and a raw field for a type the page does not know',
    scenes: ['table-add', 'table-edit', 'table-columns'],
  },
  20: { about: 'Odd words', scenes: ['outbox', 'home', 'table-keep', 'import-preview'] },
  21: {
    about: 'The first start printed log lines before the key, and requests that were too long to read',
    scenes: ['sign-in', 'sign-in-old-link'],
    commands: ['npm start'],
  },
  22: {
    about: 'A new map stayed invisible until a signal; an existing one was overwritten without a word',
    scenes: ['empty-map'],
    commands: ['map build'],
  },
  23: {
    about: 'README measured memory before it explained a table',
    scenes: ['empty-home'],
    commands: ['README.md'],
  },
  24: {
    about: 'Progress without rate and time left; doctor and config check in words of the program',
    scenes: ['outbox'],
    commands: ['map build', 'doctor', 'config check'],
  },
}

/**
 * Numbers that are meant by `6`, `1-12,18` or `all`, in their order.
 *
 * @throws Error for anything else
 */
export function numbersOf(text) {
  const known = Object.keys(FINDINGS).map(Number)
  if (text === 'all') return known
  const wanted = new Set()
  for (const part of text.split(',')) {
    const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? []
    const found = known.filter((number) => number >= Number(from) && number <= Number(to))
    if (found.length === 0)
      throw new Error(`--finding: found "${part}", expected all, or 1 to ${known.length} as in 6 or 1-12,18`)
    for (const number of found) wanted.add(number)
  }
  return known.filter((number) => wanted.has(number))
}

/** Folder of the pictures of a finding. */
export const folderOf = (number) => `finding-${String(number).padStart(2, '0')}`

/** @returns names of the folders of the chosen findings that show a scene */
export function foldersOf(numbers, scene) {
  return numbers.filter((number) => FINDINGS[number].scenes.includes(scene)).map(folderOf)
}
