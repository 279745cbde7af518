-- When the row of a quest was made. A quest that may be done again (quests.yaml: again_s) has its row
-- made anew when it is done: the operations to 0 and to done, in one commit. So from then on it says
-- when that was. Rows that are there already count from now.
ALTER TABLE quest ADD COLUMN since timestamptz NOT NULL DEFAULT now();
