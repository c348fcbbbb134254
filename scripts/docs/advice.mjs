// What the console advises about errors. The console is compiled with the browser's types, so its sources are
// read from here and not from docs-facts.ts.
export { adviceFor } from '../../src/console/help/advice.ts'
