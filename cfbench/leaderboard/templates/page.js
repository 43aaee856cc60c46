"use strict";
// The page is complete without this: it folds rows, sorts, filters and copies.
(() => {
  const table = document.getElementById("board");
  const bodies = [...table.tBodies];
  const heads = [...table.tHead.rows[0].cells];
  const data = JSON.parse(document.getElementById("tasks-data").textContent);
  const tools = document.getElementById("tools");
  const said = document.getElementById("said");
  const state = new URLSearchParams(location.hash.slice(1));
  tools.hidden = false;

  // ---------------------------------------------------------------- rows that open
  for (const body of bodies) {
    const [entry, more] = body.rows;
    const name = entry.cells[1];
    const button = document.createElement("button");
    button.type = "button";
    button.append(name.firstChild);
    name.prepend(button);
    const show = (open) => {
      more.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
    };
    button.addEventListener("click", () => show(more.hidden));
    show(false);
  }

  // ---------------------------------------------------------------- sorting; positions stay what they are
  const original = bodies.map((body) => [...body.rows[0].cells].map((cell) => cell.innerHTML));
  const values = bodies.map((body) => [...body.rows[0].cells].map((cell) => cell.dataset.value));
  const units = heads.map((head) => (head.querySelector(".unit") ? head.querySelector(".unit").textContent : ""));
  const places = bodies.map((_, row) => row);
  let current = places.slice();

  function valueOf(row, column) {
    const text = bodies[row].rows[0].cells[column].dataset.value;
    return text === undefined || text === "" ? null : Number(text);
  }

  function arrange() {
    const name = state.get("sort");
    const column = heads.findIndex((head) => head.dataset.column === name);
    const descending = state.get("order") === "down";
    let order = current.slice();
    if (column >= 0) {
      order.sort((a, b) => {
        const [x, y] = [valueOf(a, column), valueOf(b, column)];
        if (x === null || y === null) return (x === null) - (y === null);
        return descending ? y - x : x - y;
      });
    }
    for (const row of order) table.append(bodies[row]);
    heads.forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  for (const head of heads.filter((one) => one.dataset.column)) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const higher = button.textContent.includes("higher is better");
    button.addEventListener("click", () => {
      const again = state.get("sort") === head.dataset.column;
      const down = again ? state.get("order") !== "down" : higher;
      state.set("sort", head.dataset.column);
      state.set("order", down ? "down" : "up");
      remember();
      arrange();
    });
  }

  // ---------------------------------------------------------------- filtering; nothing stale stays on the page
  const selects = [...tools.querySelectorAll("select")];

  function mean(numbers) {
    return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  }

  function median(numbers) {
    const sorted = numbers.slice().sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  function chosenTasks() {
    const kept = data.tasks.map((task, i) => (selects.every((one) => !one.value || task[one.name] === one.value) ? i : -1));
    return kept.filter((i) => i >= 0);
  }

  function put(row, column, text, value) {
    const cell = bodies[row].rows[0].cells[column];
    cell.textContent = text;
    if (value === null) delete cell.dataset.value;
    else cell.dataset.value = value;
  }

  function restore() {
    bodies.forEach((body, row) => {
      [...body.rows[0].cells].forEach((cell, column) => {
        if (column === 1) return;
        cell.innerHTML = original[row][column];
        if (values[row][column] === undefined) delete cell.dataset.value;
        else cell.dataset.value = values[row][column];
        cell.hidden = false;
      });
    });
    heads.forEach((head, column) => {
      head.hidden = false;
      const unit = head.querySelector(".unit");
      if (unit) unit.textContent = units[column];
    });
    current = places.slice();
  }

  function recompute(tasks) {
    const counting = tasks.filter((i) => data.tasks[i].counts);
    const anything = data.rows.some((row) => row.ranked && counting.some((i) => row.results[i] && row.results[i][1]));
    const rows = data.rows.map((row) => {
      const results = tasks.map((i) => row.results[i]).filter(Boolean);
      const ranks = counting.map((i) => row.results[i] && row.results[i][0]);
      const complete = row.ranked && ranks.length > 0 && ranks.every((rank) => rank !== null);
      const losses = results.map((one) => one[3]).filter((one) => one !== null);
      return {
        found: results.reduce((sum, one) => sum + one[1], 0),
        asked: results.reduce((sum, one) => sum + one[2], 0),
        rank: complete && anything ? mean(ranks) : null,
        loss: losses.length ? median(losses) : null,
        wins: complete && anything ? 0 : null,
      };
    });
    for (const i of counting) {
      if (!data.rows.some((row, r) => rows[r].rank !== null && row.results[i][1])) continue; // nobody wins it
      const ranks = data.rows.map((row, r) => (rows[r].rank === null ? Infinity : row.results[i][0]));
      const least = Math.min(...ranks);
      ranks.forEach((rank, r) => {
        if (rank < Infinity && rank <= least + 1e-9) rows[r].wins += 1;
      });
    }
    current = places.slice().sort((a, b) => {
      const [x, y] = [rows[a].rank, rows[b].rank];
      return x === null || y === null ? (x === null) - (y === null) : x - y;
    });
    heads.forEach((head, column) => {
      const hide = Boolean(head.dataset.column) && head.dataset.recomputed === undefined;
      head.hidden = hide;
      const unit = head.querySelector(".unit");
      if (unit && ["found", "wins"].includes(head.dataset.column)) unit.textContent = "of these tasks";
      bodies.forEach((body) => (body.rows[0].cells[column].hidden = hide));
    });
    rows.forEach((row, r) => {
      const better = rows.filter((one) => one.rank !== null && one.rank < row.rank - 1e-9).length;
      put(r, 0, row.rank === null ? "-" : String(better + 1), null);
      heads.forEach((head, column) => {
        const percent = row.loss === null ? "-" : `${row.loss < -0.005 ? "" : "+"}${(100 * row.loss).toFixed(0)}%`;
        if (head.dataset.column === "found") {
          const share = row.asked ? ` (${((100 * row.found) / row.asked).toFixed(1)}%)` : "";
          put(r, column, row.asked ? `${row.found} of ${row.asked}${share}` : "-", row.asked ? row.found / row.asked : null);
        }
        if (head.dataset.column === "rank") put(r, column, row.rank === null ? "-" : row.rank.toFixed(1), row.rank);
        if (head.dataset.column === "loss") put(r, column, percent, row.loss);
        if (head.dataset.column === "wins") put(r, column, row.wins === null ? "-" : `${row.wins} of ${counting.length}`, row.wins);
      });
    });
  }

  function filter() {
    restore();
    const filtered = selects.some((one) => one.value);
    document.getElementById("filtered").hidden = !filtered;
    if (filtered) recompute(chosenTasks());
    arrange();
  }

  function remember() {
    for (const one of selects) {
      if (one.value) state.set(one.name, one.value);
      else state.delete(one.name);
    }
    history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
  }

  for (const one of selects) {
    const wanted = state.get(one.name);
    if ([...one.options].some((option) => option.value === wanted)) one.value = wanted;
    one.addEventListener("change", () => {
      remember();
      filter();
    });
  }

  // ---------------------------------------------------------------- copying what is shown
  function shownCells() {
    const columns = heads.map((_, i) => i).filter((i) => !heads[i].hidden);
    const titles = columns.map((i) => {
      const title = heads[i].querySelector(".title") ? heads[i].querySelector(".title").textContent : heads[i].textContent;
      const unit = heads[i].querySelector(".unit");
      return unit && unit.textContent ? `${title} (${unit.textContent.replace(/^\(|\)$/g, "")})` : title;
    });
    const rows = [...table.tBodies].map((body) =>
      columns.map((i) => {
        const cell = body.rows[0].cells[i];
        const text = cell.querySelector(".text, button");
        return (text || cell).textContent.trim();
      }),
    );
    return [titles, rows];
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    said.textContent = "copied";
  }

  document.getElementById("copy-markdown").addEventListener("click", () => {
    const [titles, rows] = shownCells();
    const line = (cells) => `| ${cells.map((cell) => cell.replace(/[\\|`*<]/g, "\\$&")).join(" | ")} |`;
    const ruler = titles.map((_, i) => (i === 1 ? ":--" : "--:"));
    copy([line(titles), `| ${ruler.join(" | ")} |`, ...rows.map(line)].join("\n") + "\n");
  });
  document.getElementById("copy-latex").addEventListener("click", () => {
    const [titles, rows] = shownCells();
    const sign = (one) => ({ "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" })[one] || `\\${one}`;
    const line = (cells) => `${cells.map((cell) => cell.replace(/[\\&%$#_{}~^]/g, sign)).join(" & ")} \\\\`;
    const kinds = titles.map((_, i) => (i === 1 ? "l" : "r")).join("");
    copy([`\\begin{tabular}{${kinds}}`, "\\hline", line(titles), "\\hline", ...rows.map(line), "\\hline", "\\end{tabular}"].join("\n") + "\n");
  });

  filter();
})();
